// The connection to `mhpc review`: answers go there and come from there, and it consolidates again.

import type { Facts } from '../lib/facts';
import { isAnswer, type Answers, type ReviewAnswer } from './answers.svelte';
import {
  getAnswers,
  getChanges,
  getFacts,
  getStatus,
  postAnswers,
  RequestError,
  startConsolidation,
  type Changes,
} from './server';

const POLL_TIME = 3000;
const STATUS_TIME = 1000;
const MAX_WAIT = 30_000;
const BATCH_SIZE = 500;

export class ServerSync {
  /** Why the last request failed; empty if it did not. */
  problem = $state('');
  /** The answers that the server will never take, and why. */
  refused = $state.raw<string[]>([]);
  /** The stage of the consolidation that is running. */
  stage = $state<string | null>(null);
  failure = $state('');
  changes = $state.raw<Changes | null>(null);
  /** Somebody else consolidated again: there is a newer result than the one on this page. */
  newer = $state(false);
  readonly #answers: Answers;
  readonly #onFacts: (facts: Facts) => void;
  #version = 0;
  #result: number | null = null;
  #sending = false;
  #wait = POLL_TIME;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(answers: Answers, onFacts: (facts: Facts) => void) {
    this.#answers = answers;
    this.#onFacts = onFacts;
    answers.onRecord = () => void this.send();
  }

  /** Exchange answers until the returned function is called. */
  start(): () => void {
    const poll = (): void => {
      if (document.visibilityState === 'visible') void this.#poll();
    };
    const timer = setInterval(poll, POLL_TIME);
    document.addEventListener('visibilitychange', poll);
    poll();
    void this.send();
    return () => {
      clearInterval(timer);
      clearTimeout(this.#retry);
      document.removeEventListener('visibilitychange', poll);
    };
  }

  /** Send what the server does not have; what it cannot take now is sent again later. */
  async send(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    clearTimeout(this.#retry);
    try {
      for (let batch = this.#next(); batch.length > 0; batch = this.#next()) {
        await this.#post(batch);
      }
      this.#wait = POLL_TIME;
      this.problem = '';
    } catch (error) {
      this.problem = describe(error);
      this.#retry = setTimeout(() => void this.send(), this.#wait);
      this.#wait = Math.min(2 * this.#wait, MAX_WAIT);
    } finally {
      this.#sending = false;
    }
  }

  async #post(batch: ReviewAnswer[]): Promise<void> {
    try {
      await postAnswers(batch);
      this.#answers.markSaved(batch);
    } catch (error) {
      if (!(error instanceof RequestError && error.status === 400)) throw error;
      // One of them is wrong, and none was saved: find out which.
      if (batch.length > 1) for (const answer of batch) await this.#post([answer]);
      else {
        this.#answers.setAside(batch[0]);
        this.refused = [...this.refused, `${batch[0].instance}: ${error.message}`];
      }
    }
  }

  #next = (): ReviewAnswer[] => this.#answers.listUnsaved(BATCH_SIZE);

  async #poll(): Promise<void> {
    try {
      const { version, answers } = await getAnswers(this.#version);
      this.#answers.receive(answers.filter(isAnswer));
      // A smaller version: another server, whose answers are all new here.
      this.#version = version < this.#version ? 0 : version;
      const { state, result } = await getStatus();
      this.#result ??= result;
      this.newer = this.stage === null && state !== 'running' && result > this.#result;
      this.problem = '';
      if (this.#answers.unsaved > 0) void this.send(); // The server is back.
    } catch (error) {
      this.problem = describe(error);
    }
  }

  /** Consolidate with all answers, and show the result in the page. */
  async consolidate(): Promise<void> {
    if (this.stage !== null) return;
    this.stage = 'starting';
    this.failure = '';
    try {
      await this.send();
      if (this.#answers.unsaved > 0) throw new Error(`Answers are not saved. ${this.problem}`);
      await startConsolidation();
      for (;;) {
        const { state, stage, error } = await getStatus();
        if (state === 'failed') throw new Error(error ?? 'The consolidation failed');
        if (state !== 'running') break;
        this.stage = stage || 'consolidating';
        await new Promise((resolve) => setTimeout(resolve, STATUS_TIME));
      }
      await this.showNewest();
    } catch (error) {
      this.failure = describe(error);
    } finally {
      this.stage = null;
    }
  }

  /** Replace the report by that of the newest result. */
  async showNewest(): Promise<void> {
    const [facts, changes, { result }] = await Promise.all([getFacts(), getChanges(), getStatus()]);
    this.#onFacts(facts);
    this.changes = changes;
    this.#result = result;
    this.newer = false;
  }
}

function describe(error: unknown): string {
  if (!(error instanceof RequestError)) {
    return error instanceof TypeError ? 'The server does not answer.' : (error as Error).message;
  }
  if (error.status !== 403) return error.message;
  return 'The server refuses this page. Open the address that mhpc review printed.';
}
