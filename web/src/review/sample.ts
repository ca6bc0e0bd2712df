// Which answers are a random sample of what is left, and how accurate it is by them.
//
// Instances that are reviewed for their gain are harder than the rest. Those drawn at random are a
// random sample of the rest only if instances that the order by gain reaches are not among them.

import { estimateCurve, type Estimate, type RandomAnswer } from '../lib/accuracy';
import type { Report } from '../lib/report';
import type { Answers, ReviewAnswer } from './answers.svelte';
import type { Drawn, Question } from './queue';

/**
 * The positions that the order by gain has reached: answered without a gap from its start, up to
 * the last one that was asked for its gain.
 */
export function reachedByGain(
  byGain: readonly Question[],
  drawnOf: (position: number) => Drawn | undefined,
): number[] {
  const reached: number[] = [];
  let last = 0;
  for (const { position } of byGain) {
    const drawn = drawnOf(position);
    if (drawn === undefined) break;
    reached.push(position);
    if (drawn === 'gain') last = reached.length;
  }
  return reached.slice(0, last);
}

/** The estimated accuracy of the rest after the first random answers, then after more. */
export function estimateRest(report: Report, answers: Answers): Estimate[] {
  const { instances, review, predictions } = report;
  if (!predictions) return [];
  const gold = new Set(instances.gold);
  const sample: RandomAnswer[] = [];
  let [population, predicted] = [review.population, review.population * predictions.mean];
  const inSample = new Set<number>();
  for (const position of review.random) {
    const settled = answers.settled.has(instances.id[position]) && !gold.has(position);
    if (!settled || !isRandom(answers.to(instances.id[position]))) continue;
    inSample.add(position);
    sample.push({
      right: isRight(report, answers, position),
      predicted: predictions.right[position],
    });
  }
  instances.id.forEach((id, position) => {
    if (gold.has(position) || inSample.has(position) || !answers.settled.has(id)) return;
    population -= 1; // Settled for another reason: no longer part of the rest.
    predicted -= predictions.right[position];
  });
  return estimateCurve(sample, population, predicted / Math.max(population, 1));
}

/** Whether all answers to an instance are those of a random sample. */
export const isRandom = (answers: ReviewAnswer[]): boolean =>
  answers.every(({ drawn }) => drawn === 'random');

/** Whether the suggested labels are those that reviewers settled on. */
function isRight(report: Report, answers: Answers, position: number): boolean {
  const { instances, taxonomy } = report;
  const [{ labels }] = answers.to(instances.id[position]);
  const suggested = new Set(instances.labels[position].map((label) => taxonomy.id[label]));
  return labels!.length === suggested.size && labels!.every((label) => suggested.has(label));
}
