// The content of report.json, which mhpc embeds in the page. docs/report.md describes every field.
// Labels are given as positions in `taxonomy`, sources as positions in `sources`.

export type Proportion = [value: number, low: number, high: number];
export type Stance = 'direct' | 'below' | 'vague' | 'against';

export interface Taxonomy {
  id: string[];
  name: string[];
  parents: number[][];
  /** Answers that give the label itself. */
  votes: number[];
  /** Instances for which some source gave the label or a descendant. */
  supported: number[];
  chosen: number[];
  disputed: number[];
}

export interface Weakness {
  label: number;
  given: number;
  wrong: number;
}

export interface SourceProfile {
  source: string;
  answers: number;
  coverage: number;
  mean_depth: number | null;
  accurate: Proportion | null;
  vague: Proportion | null;
  wrong: Proportion | null;
  /** Independence: 1 for an independent source, 0.5 for each of two duplicates. */
  independence: number | null;
  /** The source that it depends on most, and how much: 0 not at all, 1 a duplicate. */
  nearest_source: number | null;
  dependence: number | null;
  relation: string | null;
  /** The subtrees in which it is least reliable. */
  weaknesses: Weakness[];
}

export interface Answer {
  source: number;
  labels: [label: number, score: number][];
}

export interface SourceStance {
  source: number;
  stance: Stance;
  effect: number | null;
}

export interface LabelExplanation {
  label: number;
  score: number | null;
  specific: number | null;
  chosen: boolean;
  disputed: boolean;
  /** The share of sources that gave the label, among those that could. */
  vote_share: number | null;
  stances: SourceStance[];
}

export interface Disagreement {
  instance: string;
  /** The number of labels that one more answer is expected to correct. */
  gain: number;
  answers: Answer[];
  /** The most specific label that all answers give or imply. */
  agreed: number | null;
  labels: LabelExplanation[];
}

export interface ConfusedPair {
  first: number;
  second: number;
  count: number;
  under: number | null;
}

export interface Combination {
  /** The names of the methods. */
  members: string[];
  /** The share of the answers with labels that consist of one label. */
  single_label_share: number;
  one_truth_weight: number;
  /** How many sources answered the mean instance, and how many independent ones they are worth. */
  answers_per_instance: number;
  effective_sources: number;
  /** Where the labels that each source can give come from. */
  scope: 'declared' | 'inferred' | 'rejected' | 'all';
  /** The calibration error without gold labels and with them. */
  gold: { instances: number; before: number; after: number } | null;
}

export interface Iteration {
  iteration: number;
  change: number | null;
  objective: number | null;
  spread: number | null;
  seconds: number | null;
}

export interface Scorecard {
  method: string;
  view: string;
  instances: number;
  scores: { metric: string; value: number | null; better: string; ties?: string | null }[];
}

/** An estimated share of right label sets; 95 % interval. */
export interface AccuracyPoint {
  value: number | null;
  interval: [low: number, high: number];
  /** Instances drawn at random whose labels are known, and how many they were drawn from. */
  measured: number;
  population: number;
  power: number;
}

/** How accurate the instances without gold labels are, by those drawn at random. */
export interface Accuracy extends AccuracyPoint {
  levels: (AccuracyPoint & { level: number })[];
  /** How many more random answers narrow the interval to ±2 %. */
  needed: number;
  left_out: number;
  curve: AccuracyPoint[];
}

export type SourceAnswer = [source: number, labels: number[], scores?: number[]];

/** What the review of instances needs. */
export interface ReviewFacts {
  /** Positions of instances without gold labels: a random sample in random order. */
  random: number[];
  /** How many instances have no gold labels. */
  population: number;
  /** What to show of each instance, by column: `text`, `url`, `image` and others. */
  show: Record<string, (string | null)[]> | null;
  /** Whether `mhpc review` serves the page. */
  server?: boolean;
}

export interface Facts {
  format: number;
  title: string;
  overview: {
    sentences: string[];
    counts: Record<string, number>;
    decision: Record<string, unknown>;
    method: string;
    parameters: Record<string, unknown>;
    converged: boolean;
    notes: string[];
    seconds: Record<string, number>;
  };
  taxonomy: Taxonomy;
  sources: SourceProfile[];
  agreement: { sources: number[]; share: (number | null)[][]; common: number[][] };
  conflicts: Disagreement[];
  confusions: ConfusedPair[];
  instances: {
    id: string[];
    labels: number[][];
    score: (number | null)[];
    gain: (number | null)[];
    /** What each source answered: its most specific labels, with scores that are not all 1. */
    answers: SourceAnswer[][];
    /** Positions of the instances whose labels are gold labels of the run. */
    gold: number[];
  };
  accuracy?: Accuracy | null;
  /** The probability that each listed label set is right, and the mean over those without gold. */
  predictions?: { right: number[]; mean: number };
  /** Identifies votes and taxonomy of the run. */
  run: string;
  review: ReviewFacts;
  combination: Combination | null;
  trace: Iteration[];
  scorecards: Scorecard[];
  settings: Record<string, unknown>;
  command: string;
  versions: Record<string, unknown>;
  inputs: Record<string, unknown>;
  shown: {
    instances: [number, number];
    conflicts: [number, number];
    sources: [number, number];
    labels: [number, number];
    note: string | null;
  };
}

const FORMAT = 3;

/** Decode the facts, which the page holds as base64 of gzipped JSON. */
export async function unpack(packed: string): Promise<Facts> {
  const text = packed.trim();
  if (!text) throw new Error('It contains no data. Create the report with "mhpc report OUT/".');
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const facts = (await new Response(stream).json()) as Facts;
  if (facts.format !== FORMAT) {
    throw new Error(`Its data have format ${facts.format}, but this page reads format ${FORMAT}.`);
  }
  return facts;
}
