// The facts with the lookup tables that several sections need.

import { getContext, setContext } from 'svelte';

import type { Disagreement, Facts } from './facts';

export interface Report extends Facts {
  roots: number[];
  children: number[][];
  /** For every disputed label, its disagreements as positions in `conflicts`. */
  disagreementsByLabel: Map<number, number[]>;
  /** For every source, the disagreements it answered. */
  disagreementsBySource: Map<number, number[]>;
  disagreementById: Map<string, number>;
  labelById: Map<string, number>;
  sourceById: Map<string, number>;
  name(label: number): string;
  /** The labels from a root down to this one, following first parents. */
  path(label: number): number[];
}

const KEY = Symbol('report');

/** Provide the report that is current when a section starts. */
export const provideReport = (current: () => Report): (() => Report) => setContext(KEY, current);
export const useReport = (): Report => getContext<() => Report>(KEY)();

export function indexFacts(facts: Facts): Report {
  const { id, name, parents } = facts.taxonomy;
  const children: number[][] = id.map(() => []);
  const roots: number[] = [];
  parents.forEach((labelParents, label) => {
    if (labelParents.length === 0) roots.push(label);
    for (const parent of labelParents) children[parent].push(label);
  });
  return {
    ...facts,
    roots,
    children,
    disagreementsByLabel: groupBy(facts.conflicts, (disagreement) =>
      disagreement.labels.filter(({ disputed }) => disputed).map(({ label }) => label),
    ),
    disagreementsBySource: groupBy(facts.conflicts, ({ answers }) =>
      answers.map((answer) => answer.source),
    ),
    disagreementById: positionsOf(facts.conflicts.map(({ instance }) => instance)),
    labelById: positionsOf(id),
    sourceById: positionsOf(facts.sources.map((source) => source.source)),
    name: (label) => name[label] || id[label],
    path: (label) => firstPath(parents, label),
  };
}

/** The paths from a root down to a label, at most `limit`; a label with two parents has two. */
export function pathsTo(report: Report, label: number, limit = 8): number[][] {
  const paths: number[][] = [];
  for (const path of generatePaths(report.taxonomy.parents, label)) {
    // A DAG may have thousands of paths: generate no more than are shown.
    if (paths.push(path) === limit) break;
  }
  return paths;
}

function* generatePaths(parents: number[][], label: number): Generator<number[]> {
  if (parents[label].length === 0) yield [label];
  for (const parent of parents[label]) {
    for (const path of generatePaths(parents, parent)) yield [...path, label];
  }
}

function firstPath(parents: number[][], label: number): number[] {
  const path = [label];
  while (parents[path[0]].length > 0) path.unshift(parents[path[0]][0]);
  return path;
}

function positionsOf(ids: string[]): Map<string, number> {
  return new Map(ids.map((id, position) => [id, position]));
}

/** Positions of the disagreements, grouped by every key that they have. */
function groupBy(
  disagreements: Disagreement[],
  keysOf: (disagreement: Disagreement) => number[],
): Map<number, number[]> {
  const groups = new Map<number, number[]>();
  disagreements.forEach((disagreement, position) => {
    for (const key of new Set(keysOf(disagreement))) {
      const group = groups.get(key);
      if (group) group.push(position);
      else groups.set(key, [position]);
    }
  });
  return groups;
}
