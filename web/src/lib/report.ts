// What follows from the facts and several sections need: the tree downwards, who is in what.

import { getContext, setContext } from 'svelte';

import type { Conflict, Facts } from './facts';

export interface Report extends Facts {
  roots: number[];
  children: number[][];
  /** Conflicts by the labels in dispute, each as positions in `conflicts`. */
  disputes: Map<number, number[]>;
  /** Conflicts by the sources that answered. */
  heard: Map<number, number[]>;
  conflictOf: Map<string, number>;
  labelOf: Map<string, number>;
  sourceOf: Map<string, number>;
  name(label: number): string;
  /** The labels from a root down to this one, by its first parents. */
  path(label: number): number[];
}

const KEY = Symbol('report');

export const provide = (report: Report): Report => setContext(KEY, report);
export const useReport = (): Report => getContext<Report>(KEY);

export function prepare(facts: Facts): Report {
  const { id, name, parents } = facts.taxonomy;
  const children: number[][] = id.map(() => []);
  const roots: number[] = [];
  parents.forEach((above, label) => {
    if (above.length === 0) roots.push(label);
    for (const parent of above) children[parent].push(label);
  });
  return {
    ...facts,
    roots,
    children,
    disputes: gather(facts.conflicts, (conflict) =>
      conflict.labels.filter((each) => each.disputed).map((each) => each.label),
    ),
    heard: gather(facts.conflicts, (conflict) => conflict.answers.map((each) => each.source)),
    conflictOf: positions(facts.conflicts.map((conflict) => conflict.instance)),
    labelOf: positions(id),
    sourceOf: positions(facts.sources.map((source) => source.source)),
    name: (label) => name[label] || id[label],
    path: (label) => upwards(parents, label),
  };
}

/** The ways from a root down to a label, at most so many; a label with two parents has two. */
export function paths(report: Report, label: number, most = 8): number[][] {
  const found: number[][] = [];
  for (const path of ways(report.taxonomy.parents, label)) {
    // In a DAG there may be thousands: no more are made than are shown.
    if (found.push(path) === most) break;
  }
  return found;
}

function* ways(parents: number[][], label: number): Generator<number[]> {
  if (parents[label].length === 0) yield [label];
  for (const parent of parents[label]) {
    for (const path of ways(parents, parent)) yield [...path, label];
  }
}

function upwards(parents: number[][], label: number): number[] {
  const path = [label];
  while (parents[path[0]].length > 0) path.unshift(parents[path[0]][0]);
  return path;
}

function positions(names: string[]): Map<string, number> {
  return new Map(names.map((name, position) => [name, position]));
}

function gather(conflicts: Conflict[], keys: (conflict: Conflict) => number[]) {
  const found = new Map<number, number[]>();
  conflicts.forEach((conflict, position) => {
    for (const key of new Set(keys(conflict))) {
      const there = found.get(key);
      if (there) there.push(position);
      else found.set(key, [position]);
    }
  });
  return found;
}
