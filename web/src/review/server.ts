// Requests to `mhpc review`, which serves the page.

import type { Facts } from '../lib/facts';
import type { ReviewAnswer } from './answers.svelte';

export interface ServerStatus {
  state: 'idle' | 'running' | 'done' | 'failed';
  stage: string;
  /** The number of finished consolidations. */
  result: number;
  error: string | null;
}

export interface InstanceChange {
  instance: string;
  before: string[];
  after: string[];
  score_before: number | null;
  score_after: number | null;
}

export interface SourceChange {
  source: string;
  wrong_before: number | null;
  wrong_after: number | null;
  accurate_before: number | null;
  accurate_after: number | null;
}

/** What the newest consolidation changed on instances that were not settled. */
export interface Changes {
  instances: InstanceChange[];
  changed: number;
  unchanged: number;
  sources: SourceChange[];
  settled: number;
  /** Unsettled instances with an expected gain that needs a review. */
  left: number;
  gain_before: number;
  gain_after: number;
}

/** The server answered, but not with what was asked for. */
export class RequestError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const token = (): string => new URLSearchParams(location.search).get('token') ?? '';

async function request<T>(path: string, body?: unknown): Promise<T> {
  const response = await fetch(path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      'X-MHPC-Token': token(),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: 'no-store',
  });
  const content = (await response.json().catch(() => ({}))) as T & { error?: string };
  // 409: it runs already, which is what was asked for.
  if (!response.ok && response.status !== 409) {
    throw new RequestError(response.status, content.error ?? `The server said ${response.status}`);
  }
  return content;
}

export const getAnswers = (after: number): Promise<{ version: number; answers: ReviewAnswer[] }> =>
  request(`/answers?after=${after}`);

export const postAnswers = (answers: ReviewAnswer[]): Promise<{ version: number }> =>
  request('/answers', { answers });

export const startConsolidation = (): Promise<{ state: string }> => request('/consolidate', {});
export const getStatus = (): Promise<ServerStatus> => request('/status');
export const getFacts = (): Promise<Facts> => request('/facts');
export const getChanges = (): Promise<Changes> => request('/changes');
