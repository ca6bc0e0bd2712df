// What the page shows of one instance: what the sources answered, and labels to add.

import type { Report } from '../lib/report';
import type { SourceAnswer } from '../lib/facts';
import { addLabel } from './labelSet';

/** Sources that gave the same answer. */
export interface AnswerGroup {
  sources: number[];
  labels: number[];
  scores: number[] | null;
}

/** A label that sources gave and the suggested set does not have. */
export interface Candidate {
  label: number;
  sources: number;
}

export const answersTo = (report: Report, position: number): SourceAnswer[] =>
  report.instances.answers?.[position] ?? [];

/** The answers to an instance, those that most sources gave first. */
export function groupAnswers(answers: SourceAnswer[]): AnswerGroup[] {
  const groups = new Map<string, AnswerGroup>();
  for (const [source, labels, scores] of answers) {
    const key = JSON.stringify([[...labels].sort((one, other) => one - other), scores ?? null]);
    const group = groups.get(key);
    if (group) group.sources.push(source);
    else groups.set(key, { sources: [source], ...byScore(labels, scores) });
  }
  return [...groups.values()].sort((one, other) => other.sources.length - one.sources.length);
}

function byScore(labels: number[], scores?: number[]): Pick<AnswerGroup, 'labels' | 'scores'> {
  if (!scores) return { labels, scores: null };
  const places = [...labels.keys()].sort((one, other) => scores[other] - scores[one]);
  return { labels: places.map((at) => labels[at]), scores: places.map((at) => scores[at]) };
}

/** The labels that sources gave, without those of the set and their ancestors; most given first. */
export function candidatesFor(
  answers: SourceAnswer[],
  suggested: number[],
  parents: number[][],
): Candidate[] {
  const weights = new Map<number, { sources: number; weight: number }>();
  for (const [, labels, scores] of answers) {
    labels.forEach((label, at) => {
      const { sources, weight } = weights.get(label) ?? { sources: 0, weight: 0 };
      weights.set(label, { sources: sources + 1, weight: weight + (scores?.[at] ?? 1) });
    });
  }
  return [...weights]
    .filter(([label]) => addLabel(parents, suggested, label).outcome === 'added')
    .sort(([one, a], [other, b]) => b.weight - a.weight || one - other)
    .map(([label, { sources }]) => ({ label, sources }));
}
