// The picture of the tree of sources: where its branches are, and which sources they join.

import type { Contributions } from './facts';

export interface Branch {
  /** The dependence at which two nodes are joined, and where each of them was formed. */
  dependence: number;
  first: { row: number; dependence: number };
  second: { row: number; dependence: number };
  /** The position of its group of correlated sources; null if it joins groups. */
  group: number | null;
  isDuplicate: boolean;
}

interface Node {
  row: number;
  dependence: number;
}

/** The branches of the tree, with the rows of sources counted from 0. */
export function layOutTree({ tree, correlated, thresholds }: Contributions): Branch[] {
  const groupOf = groupsOf(correlated);
  const nodes: Node[] = tree.sources.map((_, row) => ({ row, dependence: 1 }));
  const members: number[] = [...tree.sources];
  return tree.merges.map(([a, b, dependence]) => {
    const [first, second] = [nodes[a], nodes[b]];
    nodes.push({ row: (first.row + second.row) / 2, dependence });
    members.push(members[a]);
    return {
      dependence,
      first,
      second,
      group: dependence >= thresholds.correlated ? (groupOf.get(members[a]) ?? null) : null,
      isDuplicate: dependence >= thresholds.near_duplicate,
    };
  });
}

/** The position of the group of every source that is in one. */
export function groupsOf(groups: number[][]): Map<number, number> {
  return new Map(groups.flatMap((group, position) => group.map((source) => [source, position])));
}
