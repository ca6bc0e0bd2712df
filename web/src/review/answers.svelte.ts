// The reviewers' answers: one per reviewer and instance, the latest. They are kept in local storage
// under the run, shared with other tabs, and given to the server if there is one.

import { isSameSet } from './labelSet';
import type { Drawn } from './queue';

export interface ReviewAnswer {
  instance: string;
  /** Ids of the most specific labels; none for "none of these"; null withdraws the answer. */
  labels: string[] | null;
  reviewer: string;
  drawn: Drawn;
  /** ISO 8601, UTC. */
  time: string;
}

/** An answer as it is stored here: with whether the server has it. */
interface StoredAnswer extends ReviewAnswer {
  saved?: boolean;
}

/** Local storage takes one text, so that writing takes longer with every answer. */
const MANY = 1000;
const WRITE_DELAY = 250;

export type Status = 'open' | 'settled' | 'differ';

export class Answers {
  /** Why answers are not kept in this browser; empty if they are. */
  problem = $state('');
  /** Called after answers were given here. */
  onRecord: () => void = () => {};
  readonly #byInstance = new Map<string, Map<string, StoredAnswer>>();
  readonly #settled = new Set<string>();
  readonly #differing = new Set<string>();
  readonly #unsaved = new Map<string, StoredAnswer>();
  readonly #texts = new WeakMap<StoredAnswer, string>();
  readonly #storageKey: string;
  /** Grows with every change; whatever reads answers depends on it. */
  #version = $state(0);
  #lastTime = 0;
  #lastText: string | null = null;
  #planned: ReturnType<typeof setTimeout> | undefined;

  constructor(run: string) {
    this.#storageKey = `mhpc-review-${run}`;
    this.#merge(this.#read());
  }

  /** Follow what other tabs store, until the returned function is called. */
  followOtherTabs(): () => void {
    const follow = (event: StorageEvent): void => {
      if (event.key === this.#storageKey) this.#merge(parseAnswers(event.newValue));
    };
    const finish = (): void => {
      if (this.#planned !== undefined) this.#write();
    };
    addEventListener('storage', follow);
    addEventListener('pagehide', finish);
    document.addEventListener('visibilitychange', finish);
    return () => {
      removeEventListener('storage', follow);
      removeEventListener('pagehide', finish);
      document.removeEventListener('visibilitychange', finish);
    };
  }

  get version(): number {
    return this.#version;
  }

  statusOf(instance: string): Status {
    void this.#version;
    if (this.#settled.has(instance)) return 'settled';
    return this.#differing.has(instance) ? 'differ' : 'open';
  }

  /** The answers to an instance that were not withdrawn. */
  to(instance: string): ReviewAnswer[] {
    void this.#version;
    return [...(this.#byInstance.get(instance)?.values() ?? [])].filter(
      ({ labels }) => labels !== null,
    );
  }

  by(reviewer: string, instance: string): ReviewAnswer | undefined {
    return this.to(instance).find((answer) => answer.reviewer === reviewer);
  }

  get settled(): ReadonlySet<string> {
    void this.#version;
    return this.#settled;
  }

  /** The instances on which reviewers differ. */
  get differing(): ReadonlySet<string> {
    void this.#version;
    return this.#differing;
  }

  /** All answers that were not withdrawn. */
  get all(): ReviewAnswer[] {
    return [...this.#byInstance.keys()].flatMap((instance) => this.to(instance));
  }

  get unsaved(): number {
    void this.#version;
    return this.#unsaved.size;
  }

  /** The answers that the server does not have yet, as it expects them. */
  listUnsaved(limit: number): ReviewAnswer[] {
    return [...this.#unsaved.values()].slice(0, limit).map(withoutState);
  }

  /** A time for an answer that is given now: later than those of all answers before it. */
  now(): string {
    this.#lastTime = Math.max(Date.now(), this.#lastTime + 1);
    return new Date(this.#lastTime).toISOString();
  }

  /** Take in answers that were given here or loaded from files. Returns how many were new. */
  record(answers: ReviewAnswer[]): number {
    const changed = this.#merge(answers);
    this.#save();
    if (changed) this.onRecord();
    return changed;
  }

  /** Take in the server's answers. They count unless there is a newer one that it does not have. */
  receive(answers: ReviewAnswer[]): number {
    const changed = this.#merge(
      answers.map((answer) => ({ ...withoutState(answer), saved: true })),
      true,
    );
    if (changed) this.#save();
    return changed;
  }

  /** The server has these answers. */
  markSaved(answers: ReviewAnswer[]): void {
    for (const { reviewer, instance, time } of answers) {
      const stored = this.#byInstance.get(instance)?.get(reviewer);
      if (stored?.time !== time) continue; // It was changed in the meantime.
      this.#setSaved(stored);
    }
    this.#version += 1;
    this.#save();
  }

  /** The server refuses this answer for good: it stays in this browser. */
  setAside(answer: ReviewAnswer): void {
    this.#unsaved.delete(keyOf(answer));
    this.#version += 1;
  }

  #merge(answers: StoredAnswer[], always = false): number {
    let changed = 0;
    for (const answer of answers) {
      const reviewers = this.#byInstance.get(answer.instance) ?? new Map<string, StoredAnswer>();
      const before = reviewers.get(answer.reviewer);
      const wins = !before || isNewer(answer, before) || (always && before.saved);
      if (before && before.time === answer.time && answer.saved && !before.saved) {
        this.#setSaved(before);
      }
      if (!wins || (before && isEqual(before, answer))) continue;
      this.#byInstance.set(answer.instance, reviewers.set(answer.reviewer, { ...answer }));
      if (answer.saved) this.#unsaved.delete(keyOf(answer));
      else this.#unsaved.set(keyOf(answer), reviewers.get(answer.reviewer)!);
      this.#lastTime = Math.max(this.#lastTime, Date.parse(answer.time) || 0);
      this.#updateStatus(answer.instance);
      changed += 1;
    }
    if (changed) this.#version += 1;
    return changed;
  }

  #updateStatus(instance: string): void {
    const answers = this.to(instance);
    const same = answers.every(({ labels }) => isSameSet(labels!, answers[0].labels!));
    this.#settled.delete(instance);
    this.#differing.delete(instance);
    if (answers.length > 0) (same ? this.#settled : this.#differing).add(instance);
  }

  #read(): StoredAnswer[] {
    try {
      const text = localStorage.getItem(this.#storageKey);
      if (text === this.#lastText) return []; // Nobody else has written since.
      this.#lastText = text;
      return parseAnswers(text);
    } catch (error) {
      this.problem = (error as Error).message;
      return [];
    }
  }

  /** Store the answers: at once, or a moment later if there are so many that it takes a while. */
  #save(): void {
    if (this.#byInstance.size < MANY) this.#write();
    else this.#planned ??= setTimeout(() => this.#write(), WRITE_DELAY);
  }

  /** Store all answers, together with what another tab has stored. */
  #write(): void {
    clearTimeout(this.#planned);
    this.#planned = undefined;
    this.#merge(this.#read());
    const answers: string[] = [];
    for (const reviewers of this.#byInstance.values()) {
      for (const answer of reviewers.values()) answers.push(this.#format(answer));
    }
    try {
      const text = `{"answers":[${answers.join()}]}`;
      localStorage.setItem(this.#storageKey, text);
      this.#lastText = text;
      this.problem = '';
    } catch (error) {
      this.problem = (error as Error).message;
    }
  }

  /** The text of an answer, made once: with thousands of answers this is most of the time. */
  #format(answer: StoredAnswer): string {
    const text = this.#texts.get(answer) ?? JSON.stringify(answer);
    this.#texts.set(answer, text);
    return text;
  }

  #setSaved(answer: StoredAnswer): void {
    answer.saved = true;
    this.#texts.delete(answer);
    this.#unsaved.delete(keyOf(answer));
  }
}

const keyOf = ({ reviewer, instance }: ReviewAnswer): string =>
  JSON.stringify([reviewer, instance]);

/** Of two answers with the same time, every tab takes the same one. */
const isNewer = (one: ReviewAnswer, other: ReviewAnswer): boolean =>
  one.time > other.time ||
  (one.time === other.time && JSON.stringify(one.labels) > JSON.stringify(other.labels));

const isEqual = (one: ReviewAnswer, other: ReviewAnswer): boolean =>
  one.time === other.time &&
  one.drawn === other.drawn &&
  JSON.stringify(one.labels) === JSON.stringify(other.labels);

const withoutState = ({ instance, labels, reviewer, drawn, time }: ReviewAnswer): ReviewAnswer => ({
  instance,
  labels,
  reviewer,
  drawn,
  time,
});

/** The answers in a stored text; whatever is no answer is left out. */
function parseAnswers(text: string | null): StoredAnswer[] {
  try {
    const { answers } = JSON.parse(text ?? '{}') as { answers?: unknown };
    return Array.isArray(answers) ? answers.filter(isAnswer) : [];
  } catch {
    return [];
  }
}

export function isAnswer(value: unknown): value is ReviewAnswer {
  if (typeof value !== 'object' || value === null) return false;
  const { instance, labels, reviewer, drawn, time } = value as Record<string, unknown>;
  const isText = (each: unknown): boolean => typeof each === 'string';
  return (
    [instance, reviewer, time].every(isText) &&
    (labels === null || (Array.isArray(labels) && labels.every(isText))) &&
    (drawn === 'gain' || drawn === 'random')
  );
}
