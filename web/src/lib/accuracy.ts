// How accurate the instances are that nobody reviewed, from answers to instances drawn at random.
// The same equations as in src/mhpc/metrics/accuracy.py, which explains them; tests compare both.

/** An answer to an instance that was drawn at random. */
export interface RandomAnswer {
  /** Whether the suggested label set was exactly right. */
  right: boolean;
  /** The probability that it is, by the scores: `predictions.right`. */
  predicted: number;
}

/** The estimated share of right label sets among the other instances, with a 95 % interval. */
export interface Estimate {
  /** Null if nothing was measured or nothing is left. */
  value: number | null;
  low: number;
  high: number;
  measured: number;
  /** How many instances they were drawn from; the others are population - measured. */
  population: number;
  /** How many answers each one is worth thanks to the predictions: 1 to 4. */
  power: number;
  /** How many more random answers narrow the interval to ±2 %; all others if none would do. */
  needed: number;
}

export const HALF_WIDTH = 0.02;
const QUANTILE = 1.959964;
const MAX_POWER = 4;
const MIN_TUNED = 3;

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: number[]): number => sum(values) / values.length;
const clamp = (value: number): number => Math.min(Math.max(value, 0), 1);

/** Estimate the accuracy of the rest.
 *
 * `predictedMean` is the mean of `predicted` over the whole population: `predictions.mean`.
 */
export function estimate(
  answers: RandomAnswer[],
  population: number,
  predictedMean: number,
): Estimate {
  const measured = answers.length;
  const others = population - measured;
  if (measured === 0 || others <= 0) {
    const nothing = { value: null, low: 0, high: 1, measured, population, power: 1, needed: 0 };
    return { ...nothing, needed: others > 0 ? answersNeeded(nothing) : 0 };
  }
  const y = answers.map((answer) => (answer.right ? 1 : 0));
  const f = answers.map((answer) => answer.predicted);
  const { slope, power } = tune(y, f);
  const othersPredicted = (population * predictedMean - sum(f)) / others;
  const value = clamp(mean(y) + slope * (othersPredicted - mean(f)));
  const [low, high] = interval(value, mean(y), measured, others, power);
  const found = {
    value,
    low: Math.max(low, 0),
    high: Math.min(high, 1),
    measured,
    population,
    power,
    needed: 0,
  };
  return { ...found, needed: answersNeeded(found) };
}

/** The estimates after the first answers, then after more, up to all: what AccuracyCurve shows. */
export function estimateCurve(
  answers: RandomAnswer[],
  population: number,
  predictedMean: number,
  mostPoints = 40,
): Estimate[] {
  const step = Math.max(1, Math.ceil(answers.length / mostPoints));
  const points: Estimate[] = [];
  for (let size = answers.length; size > 0; size -= step)
    points.push(estimate(answers.slice(0, size), population, predictedMean));
  return points.reverse();
}

/** How many more random answers would narrow the interval to ± halfWidth. */
export function answersNeeded(found: Omit<Estimate, 'needed'>, halfWidth = HALF_WIDTH): number {
  const { measured, population } = found;
  const isEnough = (k: number): boolean => projectedHalfWidth(found, k) <= halfWidth;
  let few = Math.max(measured, 1);
  let many = Math.floor(population / 2);
  if (few < population && isEnough(few)) return few - measured;
  if (many <= few || !isEnough(many)) return population - measured;
  while (many - few > 1) {
    const middle = Math.floor((few + many) / 2);
    if (isEnough(middle)) many = middle;
    else few = middle;
  }
  return many - measured;
}

/** Half the width of the interval if there were k answers, as good as those so far. */
export function projectedHalfWidth(found: Omit<Estimate, 'needed'>, k: number): number {
  const value = found.value ?? 0.5;
  const [low, high] = interval(value, value, k, found.population - k, found.power);
  return (high - low) / 2;
}

/** Lambda of PPI++, and how many answers one is worth with it. */
function tune(y: number[], f: number[]): { slope: number; power: number } {
  const k = y.length;
  const differs = (values: number[]): boolean => values.some((value) => value !== values[0]);
  if (k < MIN_TUNED || !differs(y) || !differs(f)) return { slope: 0, power: 1 };
  const [yMean, fMean] = [mean(y), mean(f)];
  const [dy, df] = [y.map((value) => value - yMean), f.map((value) => value - fMean)];
  const slope = clamp(sum(dy.map((d, i) => d * df[i])) / sum(df.map((d) => d * d)));
  const plain = sum(dy.map((d) => d * d)) / (k - 1);
  const powered = sum(dy.map((d, i) => (d - slope * df[i]) ** 2)) / (k - 2);
  const power = powered * MAX_POWER > plain ? plain / powered : MAX_POWER;
  return { slope, power: Math.max(1, power) };
}

/** Wilson's interval of the share of all, turned into one of the others. */
function interval(
  value: number,
  reviewed: number,
  k: number,
  others: number,
  power: number,
): [low: number, high: number] {
  const all = k + others;
  const z = (QUANTILE ** 2 * others) / (power * k * (all - 1));
  const p = (k * reviewed + others * value) / all;
  const centre = (p + z / 2) / (1 + z);
  const half = Math.sqrt(z * (p * (1 - p) + z / 4)) / (1 + z);
  const ends = [Math.max(centre - half, 0), Math.min(centre + half, 1)];
  const [low, high] = ends.map((end) => (all * end - k * reviewed) / others);
  return [low, high];
}
