// Five steps of one hue each, which also those read who see few colours; the number stands beside.

export interface Level {
  step: number;
  text: string;
}

const SHARES = [0.05, 0.15, 0.35];

/** How many instances say a label, by powers of ten of the share of all: 0 (none) to 4. */
export function support(said: number, instances: number): number {
  if (said === 0) return 0;
  const share = said / Math.max(instances, 1);
  return share < 0.01 ? 1 : share < 0.05 ? 2 : share < 0.25 ? 3 : 4;
}

/** Which share of those that say a label is disputed: 0 (none) to 4. */
export function conflict(disputed: number, said: number): number {
  if (disputed === 0 || said === 0) return 0;
  return 1 + SHARES.filter((limit) => disputed / said >= limit).length;
}

export const SUPPORT: Level[] = [
  { step: 0, text: 'never said' },
  { step: 1, text: 'under 1 %' },
  { step: 2, text: '1 to 5 %' },
  { step: 3, text: '5 to 25 %' },
  { step: 4, text: '25 % or more' },
];

export const CONFLICT: Level[] = [
  { step: 0, text: 'undisputed' },
  { step: 1, text: 'under 5 %' },
  { step: 2, text: '5 to 15 %' },
  { step: 3, text: '15 to 35 %' },
  { step: 4, text: '35 % or more' },
];

/** Agreement between two sources: 0 to 4 by fifths. */
export const agreement = (share: number): number => Math.min(4, Math.floor(share * 5));
