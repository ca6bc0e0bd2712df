// Colour scales with five steps of one hue. Colour never carries the information alone: the number
// is always printed too.

export interface Step {
  step: number;
  text: string;
}

const DISPUTED_SHARES = [0.05, 0.15, 0.35];

/** Step of the share of instances on which sources gave a label: 0 (none) to 4. */
export function supportStep(given: number, instances: number): number {
  if (given === 0) return 0;
  const share = given / Math.max(instances, 1);
  return share < 0.01 ? 1 : share < 0.05 ? 2 : share < 0.25 ? 3 : 4;
}

/** Step of the disputed share of the instances on which a label was given: 0 (none) to 4. */
export function disputeStep(disputed: number, given: number): number {
  if (disputed === 0 || given === 0) return 0;
  return 1 + DISPUTED_SHARES.filter((limit) => disputed / given >= limit).length;
}

/** Step of the agreement between two sources: 0 to 4 by fifths. */
export const agreementStep = (share: number): number => Math.min(4, Math.floor(share * 5));

export const SUPPORT_STEPS: Step[] = [
  { step: 0, text: 'never' },
  { step: 1, text: 'under 1 %' },
  { step: 2, text: '1 to 5 %' },
  { step: 3, text: '5 to 25 %' },
  { step: 4, text: '25 % or more' },
];

export const DISPUTE_STEPS: Step[] = [
  { step: 0, text: 'undisputed' },
  { step: 1, text: 'under 5 %' },
  { step: 2, text: '5 to 15 %' },
  { step: 3, text: '15 to 35 %' },
  { step: 4, text: '35 % or more' },
];

export const AGREEMENT_STEPS: Step[] = [
  { step: 0, text: 'under 20 %' },
  { step: 1, text: '20 to 40 %' },
  { step: 2, text: '40 to 60 %' },
  { step: 3, text: '60 to 80 %' },
  { step: 4, text: '80 % or more' },
];
