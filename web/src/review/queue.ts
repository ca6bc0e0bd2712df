// The order in which instances are reviewed.

export type Order = 'gain' | 'random' | 'mixed';
export type Drawn = 'gain' | 'random';

/** A question to the reviewer: an instance, as its position in the report, and how it was drawn. */
export interface Question {
  position: number;
  drawn: Drawn;
}

export interface Population {
  /** The expected gain of each instance. */
  gain: readonly (number | null)[];
  /** Instances whose labels are gold labels of the run. */
  gold: ReadonlySet<number>;
  /** Instances without gold labels in random order. */
  random: readonly number[];
}

/** The questions in the given order, whether they were answered or not. */
export function orderQuestions(order: Order, population: Population): Question[] {
  if (order === 'gain') return byGain(population);
  if (order === 'random') return atRandom(population);
  return alternate(byGain(population), atRandom(population));
}

/** The largest gain first; nothing is asked where a review gains nothing. */
function byGain({ gain, gold }: Population): Question[] {
  return [...gain.keys()]
    .filter((position) => (gain[position] ?? 0) > 0 && !gold.has(position))
    .sort((one, other) => gain[other]! - gain[one]! || one - other)
    .map((position) => ({ position, drawn: 'gain' }));
}

const atRandom = ({ gold, random }: Population): Question[] =>
  random
    .filter((position) => !gold.has(position))
    .map((position) => ({ position, drawn: 'random' }));

/** One of each in turn, every instance once. */
function alternate(first: Question[], second: Question[]): Question[] {
  const asked = new Set<number>();
  const mixed: Question[] = [];
  for (let place = 0; place < Math.max(first.length, second.length); place++) {
    for (const question of [first[place], second[place]]) {
      if (question === undefined || asked.has(question.position)) continue;
      asked.add(question.position);
      mixed.push(question);
    }
  }
  return mixed;
}

/**
 * The next question: instances on which reviewers differ first, then the order. Instances in
 * `later` were skipped and come when nothing else is left.
 */
export function nextQuestion(
  questions: readonly Question[],
  isOpen: (position: number) => boolean,
  differing: readonly number[],
  later: ReadonlySet<number>,
): Question | null {
  const differs = differing.find((position) => !later.has(position));
  if (differs !== undefined) return { position: differs, drawn: 'gain' };
  let skipped: Question | null = null;
  for (const question of questions) {
    if (!isOpen(question.position)) continue;
    if (!later.has(question.position)) return question;
    skipped ??= question;
  }
  return skipped;
}
