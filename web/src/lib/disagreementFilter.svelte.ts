// Which disagreements are listed. Other sections set the filter when they link to the list.

interface Filter {
  text: string;
  label: number | null;
  source: number | null;
}

export const filter: Filter = $state({ text: '', label: null, source: null });

/** Set the given fields and clear the others. */
export const setFilter = (fields: Partial<Filter>): void => {
  Object.assign(filter, { text: '', label: null, source: null }, fields);
};
