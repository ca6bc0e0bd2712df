// Numbers as people read them.

const whole = new Intl.NumberFormat('en');
const MISSING = '–';

export const count = (value: number | null | undefined): string =>
  value == null ? MISSING : whole.format(value);

/** 0.1234 -> 12 %, small shares with one digit more. */
export function percent(value: number | null | undefined): string {
  if (value == null) return MISSING;
  const share = 100 * value;
  const digits = share !== 0 && Math.abs(share) < 1 ? 1 : 0;
  return `${share.toFixed(digits)} %`;
}

export const decimal = (value: number | null | undefined, digits = 2): string =>
  value == null ? MISSING : value.toFixed(digits);

/** With a sign, for what adds and what takes away. */
export function signed(value: number | null | undefined, digits = 2): string {
  if (value == null) return MISSING;
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return `±${text}`;
  return `${value < 0 ? '−' : '+'}${text}`;
}

/** Enough digits for any size: 0.00012, 12.3, 4.5e-9. */
export function figure(value: number | null | undefined): string {
  if (value == null) return MISSING;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential(1);
  return Number(value.toPrecision(4)).toString();
}

export function seconds(value: number | null | undefined): string {
  if (value == null) return MISSING;
  return value < 60 ? `${value.toFixed(value < 10 ? 2 : 1)} s` : `${(value / 60).toFixed(1)} min`;
}

export const plural = (value: number, noun: string, nouns = `${noun}s`): string =>
  `${count(value)} ${value === 1 ? noun : nouns}`;

const LONG = 80;

/** A name cut to what fits beside others; where it is told of alone it stands in full. */
export const short = (name: string): string =>
  name.length > LONG ? `${name.slice(0, LONG - 1).trimEnd()}…` : name;

/** instances_without_label -> instances without label. */
export const words = (name: string): string => name.replaceAll('_', ' ');

/** A note as a sentence: a capital before it, a full stop behind. */
export const sentence = (note: string): string =>
  note.charAt(0).toLocaleUpperCase('en') + note.slice(1) + (/[.!?]$/.test(note) ? '' : '.');

/** A setting or parameter of any type, on one line. */
export function plain(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'number') return Number.isInteger(value) ? count(value) : figure(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'object') return String(value);
  const entries = Object.entries(value as object);
  if (Array.isArray(value)) return value.map(plain).join(', ') || 'none';
  return entries.map(([name, each]) => `${words(name)} ${plain(each)}`).join(', ') || 'none';
}
