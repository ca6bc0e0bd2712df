// The visible rows of the tree. A label with several parents appears under each of them, so the key
// of a row is its whole path.

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

/** More rows than anybody scrolls through; a DAG may have far more paths than labels. */
export const MAX_ROWS = 20_000;

export interface Shape {
  roots: number[];
  childrenOf(label: number, key: string): number[];
  isOpen(key: string): boolean;
}

export const keyOf = (path: number[]): string => path.join('/');

/** The visible rows from top to bottom. */
export function visibleRows({ roots, childrenOf, isOpen }: Shape): Row[] {
  const rows: Row[] = [];
  const walk = (labels: number[], parent: string | null, level: number): void => {
    for (const [position, label] of labels.entries()) {
      if (rows.length >= MAX_ROWS) return;
      const key = parent === null ? String(label) : `${parent}/${label}`;
      const children = childrenOf(label, key);
      const branch = children.length > 0;
      const open = branch && isOpen(key);
      const siblings = labels.length;
      rows.push({ key, label, level, position: position + 1, siblings, parent, branch, open });
      if (open) walk(children, key, level + 1);
    }
  };
  walk(roots, null, 1);
  return rows;
}

export interface SearchResult {
  labels: Set<number>;
  /** The matching labels and all their ancestors. */
  withAncestors: Set<number>;
}

/** The labels whose name or id contains the text. */
export function searchLabels(report: Report, text: string): SearchResult {
  const query = text.trim().toLocaleLowerCase();
  const { id, name, parents } = report.taxonomy;
  const labels = new Set<number>();
  const withAncestors = new Set<number>();
  const addWithAncestors = (label: number): void => {
    if (withAncestors.has(label)) return;
    withAncestors.add(label);
    parents[label].forEach(addWithAncestors);
  };
  id.forEach((labelId, label) => {
    const matches =
      labelId.toLocaleLowerCase().includes(query) ||
      (name[label] ?? '').toLocaleLowerCase().includes(query);
    if (!matches) return;
    labels.add(label);
    addWithAncestors(label);
  });
  return { labels, withAncestors };
}
