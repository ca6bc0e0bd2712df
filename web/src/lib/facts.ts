// The facts of a report as mhpc writes them. docs/report.md describes every field.
// Labels are positions in `taxonomy`, sources are positions in `sources`.

export type Share = [value: number, low: number, high: number];
export type Stance = 'direct' | 'below' | 'vague' | 'against';
export type Estimate = [loss: number, error: number | null];

export interface Taxonomy {
  id: string[];
  name: string[];
  parents: number[][];
  votes: number[];
  said: number[];
  chosen: number[];
  disputed: number[];
}

export interface Errs {
  label: number;
  said: number;
  wrong: number;
}

export interface Source {
  source: string;
  answers: number;
  coverage: number;
  mean_depth: number | null;
  accurate: Share | null;
  vague: Share | null;
  wrong: Share | null;
  voice: number | null;
  kin: number | null;
  kinship: number | null;
  copy: string | null;
  errs: Errs[];
}

export interface Said {
  source: number;
  said: [label: number, score: number][];
}

export interface Held {
  source: number;
  stance: Stance;
  effect: number | null;
}

export interface Judged {
  label: number;
  score: number | null;
  specific: number | null;
  chosen: boolean;
  disputed: boolean;
  own: number | null;
  stances: Held[];
}

export interface Conflict {
  instance: string;
  gain: number;
  answers: Said[];
  agreed: number | null;
  labels: Judged[];
}

export interface Confusion {
  one: number;
  other: number;
  count: number;
  under: number | null;
}

export interface Compared {
  name: string;
  closed: Estimate | null;
  specific: Estimate | null;
  seconds: number | null;
  chosen: 'score' | 'specific' | 'both' | null;
}

export interface Step {
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
  sources: Source[];
  agreement: { sources: number[]; share: (number | null)[][]; common: number[][] };
  conflicts: Conflict[];
  confusions: Confusion[];
  instances: {
    id: string[];
    labels: number[][];
    score: (number | null)[];
    gain: (number | null)[];
  };
  comparison: Compared[];
  trace: Step[];
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

const FORMAT = 1;

/** Unpack the facts that lie in the page as gzip in base64. */
export async function unpack(packed: string): Promise<Facts> {
  const text = packed.trim();
  if (!text) throw new Error('This page holds no facts: write one with "mhpc report OUT/".');
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const facts = (await new Response(stream).json()) as Facts;
  if (facts.format !== FORMAT) {
    throw new Error(`This page shows facts of format ${FORMAT}, not ${facts.format}.`);
  }
  return facts;
}
