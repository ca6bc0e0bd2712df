// The states of an instance, in the order of the numbers by which the facts give them.

export interface State {
  key: string;
  title: string;
  /** The class of its bars. */
  tone: string;
}

export const STATES: State[] = [
  { key: 'settled', title: 'settled', tone: 'settled' },
  { key: 'contested', title: 'certain, but sources disagree', tone: 'contested' },
  { key: 'review', title: 'to review', tone: 'review' },
];
