// Which instances are listed. The pictures set the filter when they link to the list.

interface Filter {
  text: string;
  /** A label: instances that have it or a descendant. */
  under: number | null;
  /** A position in `STATES`. */
  state: number | null;
}

export const filter: Filter = $state({ text: '', under: null, state: null });

/** Set the given fields and clear the others. */
export const setFilter = (fields: Partial<Filter>): void => {
  Object.assign(filter, { text: '', under: null, state: null }, fields);
};
