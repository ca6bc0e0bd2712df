// The rows of the tree that are open. A label with several parents stands under each, so a row is
// known by its whole way down.

import type { Report } from './report';

export interface Row {
  key: string;
  label: number;
  level: number;
  position: number;
  siblings: number;
  parent: string | null;
  branch: boolean;
  open: boolean;
}

/** More rows than anybody scrolls through; a DAG has far more ways than labels. */
export const MOST_ROWS = 20_000;

export interface Shape {
  roots: number[];
  below(label: number, parent: string | null): number[];
  isOpen(key: string): boolean;
}

export const keyOf = (path: number[]): string => path.join('/');

/** The rows from top to bottom. */
export function rowsOf({ roots, below, isOpen }: Shape): Row[] {
  const rows: Row[] = [];
  const walk = (labels: number[], parent: string | null, level: number): void => {
    for (const [position, label] of labels.entries()) {
      if (rows.length >= MOST_ROWS) return;
      const key = parent === null ? String(label) : `${parent}/${label}`;
      const under = below(label, key);
      const branch = under.length > 0;
      const open = branch && isOpen(key);
      const siblings = labels.length;
      rows.push({ key, label, level, position: position + 1, siblings, parent, branch, open });
      if (open) walk(under, key, level + 1);
    }
  };
  walk(roots, null, 1);
  return rows;
}

export interface Hits {
  labels: Set<number>;
  /** Hits and all above them. */
  shown: Set<number>;
}

/** The labels whose name or id holds the text. */
export function find(report: Report, text: string): Hits {
  const wanted = text.trim().toLocaleLowerCase();
  const { id, name, parents } = report.taxonomy;
  const labels = new Set<number>();
  const shown = new Set<number>();
  const climb = (label: number): void => {
    if (shown.has(label)) return;
    shown.add(label);
    parents[label].forEach(climb);
  };
  id.forEach((own, label) => {
    const found =
      own.toLocaleLowerCase().includes(wanted) ||
      (name[label] ?? '').toLocaleLowerCase().includes(wanted);
    if (!found) return;
    labels.add(label);
    climb(label);
  });
  return { labels, shown };
}
