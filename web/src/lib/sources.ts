// The table of sources: its columns and its order.

import type { Source } from './facts';

export interface Order {
  by: string;
  down: boolean;
}

interface Column {
  by: string;
  title: string;
  number: boolean;
  value: (source: Source) => number | string | null;
}

export const COLUMNS: Column[] = [
  { by: 'source', title: 'Source', number: false, value: (each) => each.source },
  { by: 'answers', title: 'Answers', number: true, value: (each) => each.answers },
  { by: 'coverage', title: 'Coverage', number: true, value: (each) => each.coverage },
  { by: 'depth', title: 'Mean depth', number: true, value: (each) => each.mean_depth },
  { by: 'accurate', title: 'Accurate', number: false, value: (each) => each.accurate?.[0] ?? null },
  { by: 'vague', title: 'Vague', number: false, value: (each) => each.vague?.[0] ?? null },
  { by: 'wrong', title: 'Wrong', number: false, value: (each) => each.wrong?.[0] ?? null },
  { by: 'voice', title: 'Voice', number: true, value: (each) => each.voice },
];

/** Positions of the sources in an order; those without a value come last either way. */
export function sorted(sources: Source[], { by, down }: Order): number[] {
  const { value } = COLUMNS.find((column) => column.by === by) ?? COLUMNS[0];
  const values = sources.map(value);
  const names = new Intl.Collator('en', { numeric: true });
  return [...sources.keys()].sort((one, other) => {
    const [a, b] = [values[one], values[other]];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const ahead = typeof a === 'number' ? a - (b as number) : names.compare(a, b as string);
    return (down ? -ahead : ahead) || one - other;
  });
}
