// A label set as its most specific labels: no label in it is an ancestor of another one.

export type Parents = number[][];

export interface Addition {
  labels: number[];
  /** "implied": a label of the set is a descendant, so the set has it already. */
  outcome: 'added' | 'present' | 'implied';
  /** The ancestors that the added label replaced. */
  replaced: number[];
}

/** All labels above a label; without the label itself. */
export function ancestorsOf(parents: Parents, label: number): Set<number> {
  const ancestors = new Set<number>();
  const queue = [...parents[label]];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (ancestors.has(next)) continue;
    ancestors.add(next);
    queue.push(...parents[next]);
  }
  return ancestors;
}

/** The labels without duplicates and without ancestors of others, in their order. */
export function mostSpecific(parents: Parents, labels: number[]): number[] {
  const implied = new Set<number>();
  for (const label of labels) {
    for (const ancestor of ancestorsOf(parents, label)) implied.add(ancestor);
  }
  return [...new Set(labels)].filter((label) => !implied.has(label));
}

/** Add a label. It replaces its ancestors, and is not added if a descendant implies it. */
export function addLabel(parents: Parents, labels: number[], label: number): Addition {
  if (labels.includes(label)) return { labels, outcome: 'present', replaced: [] };
  if (labels.some((each) => ancestorsOf(parents, each).has(label))) {
    return { labels, outcome: 'implied', replaced: [] };
  }
  const ancestors = ancestorsOf(parents, label);
  return {
    labels: [...labels.filter((each) => !ancestors.has(each)), label],
    outcome: 'added',
    replaced: labels.filter((each) => ancestors.has(each)),
  };
}

/** Replace a label by its parents, as far as other labels do not imply them; null at the top. */
export function raiseLabel(parents: Parents, labels: number[], label: number): number[] | null {
  if (parents[label].length === 0) return null;
  const position = labels.indexOf(label);
  return mostSpecific(parents, [
    ...labels.slice(0, position),
    ...parents[label],
    ...labels.slice(position + 1),
  ]);
}

export const isSameSet = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && new Set([...one, ...other]).size === new Set(one).size;
