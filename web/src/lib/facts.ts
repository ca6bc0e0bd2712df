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
  /** Groups of labels that exclude each other. */
  exclusive?: number[][];
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
  /** How many of its most specific labels the result does not have. */
  rejected?: number;
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

/** What was found: a sentence each, its numbers, and what its picture shows. */
export interface Findings {
  /** The expected gain from which on an instance needs a review. */
  min_gain: number;
  request: { sentence: string; start: string[]; effort: string | null };
  settled: {
    sentence: string;
    count: number;
    contested: number;
    /** By parts of the taxonomy, how many instances are in each state. */
    groups: { label: number | null; name: string; counts: number[] }[];
  };
  /** The histogram is of the expected F of the label sets, from 0 to 1. */
  review: { sentence: string; count: number; histogram: number[] };
  /** Positions of sources, the least reliable first, and how many are below average. */
  sources: { sentence: string; order: number[]; unreliable: number; mean: number | null };
  confusions: { sentence: string; shown: number };
  exclusive: string | null;
  /** For every listed instance, its state: a position in `STATES`. */
  states: number[];
}

export interface ExclusiveConflicts {
  instances: number;
  /** Ids of the first of these instances. */
  first: string[];
  pairs: { first: number; second: number; count: number }[];
}

export interface Facts {
  format: number;
  title: string;
  findings: Findings;
  overview: {
    sentences: string[];
    counts: Record<string, number>;
    decision: Record<string, unknown>;
    method: string;
    parameters: Record<string, unknown>;
    converged: boolean;
    /** Notes that a reader can act on, and the others. */
    notes: string[];
    technical_notes: string[];
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
  /** Identifies votes and taxonomy of the run. */
  run: string;
  review: ReviewFacts;
  accuracy?: Accuracy | null;
  /** The probability that each listed label set is right, and the mean over those without gold. */
  predictions?: { right: number[]; mean: number };
  exclusive: ExclusiveConflicts | null;
  combination: Combination | null;
  contributions?: Contributions | null;
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

/** What sources are worth; sources are positions in `sources`. */
export interface Contributions {
  /** The findings in words, and how they were measured. */
  sentences: string[];
  measured: string;
  effective_sources: number;
  answers_per_instance: number;
  /** For each source: the share of label sets that change without it, null if not measured. */
  changed: (number | null)[];
  /** The mean F between the label sets with and without it. */
  agreement: (number | null)[];
  /** The share of its answers for which it alone would give the same label set. */
  alone: (number | null)[];
  /** The mean F against gold labels without it. */
  f_without: (number | null)[] | null;
  thresholds: { near_duplicate: number; correlated: number };
  /** Near-duplicates, and correlated sources. */
  groups: number[][];
  correlated: number[][];
  /** Single linkage: joined nodes and their dependence. Nodes from the number of sources on are
   * earlier merges; those below are positions in `sources` of the tree. */
  tree: { sources: number[]; merges: [number, number, number][] };
  /** Quality against cost, from all sources to one. */
  curve: CurvePoint[];
  kept: number[];
  keep: number;
  gold: number;
  instances: number;
}

export interface CurvePoint {
  sources: number;
  cost: number;
  quality: [value: number, low: number | null, high: number | null];
  dropped: number[];
}
