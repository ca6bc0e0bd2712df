// The table of sources: its columns and its sort order.

import type { SourceProfile } from './facts';

export interface SortOrder {
  column: string;
  descending: boolean;
}

interface Column {
  key: string;
  title: string;
  numeric: boolean;
  value: (source: SourceProfile) => number | string | null;
}

export const COLUMNS: Column[] = [
  { key: 'source', title: 'Source', numeric: false, value: ({ source }) => source },
  { key: 'answers', title: 'Answers', numeric: true, value: ({ answers }) => answers },
  { key: 'coverage', title: 'Coverage', numeric: true, value: ({ coverage }) => coverage },
  { key: 'depth', title: 'Mean depth', numeric: true, value: ({ mean_depth }) => mean_depth },
  {
    key: 'accurate',
    title: 'Accurate',
    numeric: false,
    value: ({ accurate }) => accurate?.[0] ?? null,
  },
  { key: 'vague', title: 'Vague', numeric: false, value: ({ vague }) => vague?.[0] ?? null },
  { key: 'wrong', title: 'Wrong', numeric: false, value: ({ wrong }) => wrong?.[0] ?? null },
  {
    key: 'independence',
    title: 'Independence',
    numeric: true,
    value: ({ independence }) => independence,
  },
];

/** Positions of the sources in the given order; sources without a value always come last. */
export function sortSources(sources: SourceProfile[], { column, descending }: SortOrder): number[] {
  const { value } = COLUMNS.find(({ key }) => key === column) ?? COLUMNS[0];
  const values = sources.map(value);
  const names = new Intl.Collator('en', { numeric: true });
  return [...sources.keys()].sort((one, other) => {
    const [a, b] = [values[one], values[other]];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const ascending = typeof a === 'number' ? a - (b as number) : names.compare(a, b as string);
    return (descending ? -ascending : ascending) || one - other;
  });
}
