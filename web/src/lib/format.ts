// Numbers, names and notes as text.

const integers = new Intl.NumberFormat('en');
const MISSING = '–';

export const count = (value: number | null | undefined): string =>
  value == null ? MISSING : integers.format(value);

/** 0.1234 -> 12 %; one decimal below 1 %. The space does not break. */
export function percent(value: number | null | undefined): string {
  if (value == null) return MISSING;
  const share = 100 * value;
  const digits = share !== 0 && Math.abs(share) < 0.95 ? 1 : 0;
  return `${share.toFixed(digits)}\u00a0%`;
}

/** The ends of an interval: 12 to 34 %. */
export const percentInterval = (low: number, high: number, separator = ' to '): string =>
  `${percent(low).replace(/\s%/, '')}${separator}${percent(high)}`;

export const decimal = (value: number | null | undefined, digits = 2): string =>
  value == null ? MISSING : value.toFixed(digits);

/** 3.84 -> 3.8, 17.02 -> 17. */
export const oneDecimal = (value: number): string => Number(value.toFixed(1)).toString();

/** Always with a sign: +0.12, −0.30, ±0.00. */
export function signed(value: number | null | undefined, digits = 2): string {
  if (value == null) return MISSING;
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return `±${text}`;
  return `${value < 0 ? '−' : '+'}${text}`;
}

/** Four significant digits, with an exponent where needed: 0.00012, 12.3, 4.5e-9. */
export function significant(value: number | null | undefined): string {
  if (value == null) return MISSING;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6))
    return Number(value.toPrecision(2)).toExponential();
  return Number(value.toPrecision(4)).toString();
}

export function duration(value: number | null | undefined): string {
  if (value == null) return MISSING;
  if (value < 0.005) return '< 0.01 s';
  return value < 60 ? `${value.toFixed(value < 10 ? 2 : 1)} s` : `${(value / 60).toFixed(1)} min`;
}

/** The noun for a count: source, sources. */
export const nounFor = (value: number, noun: string): string => (value === 1 ? noun : `${noun}s`);

/** A count with its noun: 1 source, 2 sources. */
export const plural = (value: number, noun: string): string =>
  `${count(value)} ${nounFor(value, noun)}`;

const MAX_LENGTH = 80;

/** A name, truncated for lists and tables; details show it in full. */
export const truncate = (name: string): string =>
  name.length > MAX_LENGTH ? `${name.slice(0, MAX_LENGTH - 1).trimEnd()}…` : name;

/** instances_without_label -> instances without label. */
export const words = (name: string): string => name.replaceAll('_', ' ');

/** micro_auc -> micro AUC. */
export const metricName = (metric: string): string =>
  words(metric).replace(/\b(auc|f)\b/g, (name) => name.toUpperCase());

/** A note as a sentence: with a capital letter, a full stop and no line break before %. */
export const asSentence = (note: string): string =>
  note.charAt(0).toLocaleUpperCase('en') +
  note.slice(1).replaceAll(' %', '\u00a0%') +
  (/[.!?]$/.test(note) ? '' : '.');

/** A setting or parameter of any type, on one line. */
export function formatValue(value: unknown): string {
  if (value === null || value === undefined) return 'not set';
  if (typeof value === 'number') return Number.isInteger(value) ? count(value) : significant(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'object') return String(value);
  const entries = Object.entries(value as object);
  if (Array.isArray(value)) return value.map(formatValue).join(', ') || 'none';
  return entries.map(([name, each]) => `${words(name)} ${formatValue(each)}`).join(', ') || 'none';
}
