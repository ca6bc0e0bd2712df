// The reviewer's name and order, kept for the next visit. The page works without them.

import type { Order } from './queue';

export interface Settings {
  reviewer: string;
  order: Order;
}

const ORDERS: Order[] = ['gain', 'random', 'mixed'];
const keyOf = (run: string): string => `mhpc-review-${run}-settings`;

export function readSettings(run: string): Partial<Settings> {
  try {
    const { reviewer, order } = JSON.parse(localStorage.getItem(keyOf(run)) ?? '{}') as Settings;
    return {
      ...(typeof reviewer === 'string' && reviewer ? { reviewer } : {}),
      ...(ORDERS.includes(order) ? { order } : {}),
    };
  } catch {
    return {};
  }
}

export function writeSettings(run: string, settings: Settings): void {
  try {
    localStorage.setItem(keyOf(run), JSON.stringify(settings));
  } catch {
    // The answers are stored in the same place, and their store reports what is wrong with it.
  }
}
