// Ancestors that say the same as a label are one line with it: "insect > bee".

import type { LabelExplanation, SourceStance } from './facts';

export interface Chain {
  /** The labels from the highest ancestor down; the last one is that of the explanation. */
  path: number[];
  explanation: LabelExplanation;
}

/** Scores that differ by less say the same. */
export const SAME_SCORE = 0.05;

/**
 * Group explanations of one instance: a label is put together with the child that all sources judge
 * in the same way and that has nearly the same score. The deepest label of a chain explains it.
 */
export function groupChains(labels: LabelExplanation[], parents: number[][]): Chain[] {
  const byLabel = new Map(labels.map((each) => [each.label, each]));
  // For every label that says the same as one of its children, this child.
  const same = new Map<number, number>();
  for (const child of labels) {
    for (const parent of parents[child.label]) {
      const above = byLabel.get(parent);
      if (above && !same.has(parent) && saysTheSame(above, child)) same.set(parent, child.label);
    }
  }
  const continued = new Set(same.values());
  return labels
    .filter(({ label }) => !continued.has(label))
    .map(({ label }) => {
      const path = [label];
      for (let next = same.get(label); next !== undefined; next = same.get(next)) path.push(next);
      const deepest = path[path.length - 1];
      return { path, explanation: byLabel.get(deepest) as LabelExplanation };
    });
}

function saysTheSame(one: LabelExplanation, other: LabelExplanation): boolean {
  return (
    one.chosen === other.chosen &&
    one.disputed === other.disputed &&
    Math.abs((one.score ?? 0) - (other.score ?? 0)) <= SAME_SCORE &&
    sidesOf(one.stances) === sidesOf(other.stances)
  );
}

/** Who is for, against or vague. Who gives a label gives its ancestors. */
const sidesOf = (stances: SourceStance[]): string =>
  stances
    .map(({ source, stance }) => `${source}:${stance === 'below' ? 'direct' : stance}`)
    .sort()
    .join(' ');
