// Which conflicts are listed; other sections set it when they lead to the conflicts.

interface Filter {
  text: string;
  label: number | null;
  source: number | null;
}

export const filter: Filter = $state({ text: '', label: null, source: null });

export const only = (wanted: Partial<Filter>): void => {
  Object.assign(filter, { text: '', label: null, source: null }, wanted);
};
