// The type-ahead over all labels. Everything that depends only on the taxonomy is computed once, so
// that a key press costs one pass over two lists of short texts.

export interface LabelIndex {
  /** Labels, those with short names first. */
  order: Int32Array;
  /** Normalized names and ids, in that order. */
  names: string[];
  ids: string[];
}

/** Without accents, in lower case: "Épée" -> "epee". */
export const normalize = (text: string): string =>
  text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

export function indexLabels(ids: string[], names: string[]): LabelIndex {
  const normalizedIds = ids.map(normalize);
  const normalizedNames = names.map((name, label) =>
    name ? normalize(name) : normalizedIds[label],
  );
  const order = Int32Array.from(ids.keys()).sort(
    (one, other) => normalizedNames[one].length - normalizedNames[other].length || one - other,
  );
  return {
    order,
    names: Array.from(order, (label) => normalizedNames[label]),
    ids: Array.from(order, (label) => normalizedIds[label]),
  };
}

/**
 * The labels that match a text, at most `limit`. Names and ids that start with it come first, then
 * names in which a word does, then those that contain it, then those that contain all of its words.
 */
export function searchLabels(index: LabelIndex, text: string, limit = 30): number[] {
  const query = normalize(text.trim());
  if (!query) return [];
  const words = query.split(/\s+/);
  const inWord = ` ${query}`;
  const ranks: number[][] = [[], [], [], []];
  for (let place = 0; place < index.order.length && ranks[0].length < limit; place++) {
    const name = index.names[place];
    const id = index.ids[place];
    const at = name.indexOf(query);
    let rank = 3;
    if (at === 0 || id.startsWith(query)) rank = 0;
    else if (at > 0) rank = name.includes(inWord) ? 1 : 2;
    else if (id.includes(query)) rank = 2;
    else if (words.length < 2 || !words.every((word) => name.includes(word))) continue;
    if (ranks[rank].length < limit) ranks[rank].push(index.order[place]);
  }
  return ranks.flat().slice(0, limit);
}
