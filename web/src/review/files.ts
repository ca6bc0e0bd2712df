// gold.csv and reviews.csv: the answers as files, and back.

import { formatCsv, parseCsv } from './csv';
import { toTime, type ReviewAnswer } from './answers.svelte';
import { isRandom } from './sample';

const JOINED = ' + ';

/** The settled instances, one row per label; `settled` has the answers to each. */
export function formatGold(settled: Iterable<ReviewAnswer[]>): string {
  const rows = [['instance', 'label', 'reviewer', 'drawn']];
  for (const answers of settled) {
    const [{ instance, labels }] = answers;
    const reviewers = answers.map(({ reviewer }) => reviewer).join(JOINED);
    const drawn = isRandom(answers) ? 'random' : 'gain';
    for (const label of cells(labels)) rows.push([instance, label, reviewers, drawn]);
  }
  return formatCsv(rows);
}

/** All answers as votes, each reviewer a source. */
export function formatReviews(answers: Iterable<ReviewAnswer>): string {
  const rows = [['instance', 'source', 'label', 'drawn', 'time']];
  for (const { instance, reviewer, labels, drawn, time } of answers) {
    for (const label of cells(labels)) rows.push([instance, reviewer, label, drawn, time]);
  }
  return formatCsv(rows);
}

/** An answer without labels is one row with an empty label. */
const cells = (labels: string[] | null): string[] => (labels?.length ? labels : ['']);

export interface KnownIds {
  isInstance(id: string): boolean;
  isLabel(id: string): boolean;
  /** The labels without ancestors of others. */
  mostSpecific(labels: string[]): string[];
}

export interface LoadedFile {
  answers: ReviewAnswer[];
  unknownInstances: string[];
  /** Answers with a label that the taxonomy does not have are left out as a whole. */
  unknownLabels: string[];
  leftOut: number;
}

/** Read a gold.csv or reviews.csv; without a column of reviewers, the file is the reviewer. */
export function readReviews(text: string, file: string, known: KnownIds): LoadedFile {
  const [header = [], ...rows] = parseCsv(text);
  const columns = header.map((name) => name.trim().toLowerCase());
  const column = (name: string): number => columns.indexOf(name);
  if (column('instance') < 0 || column('label') < 0) {
    throw new Error(`${file} has no columns instance and label in its first row`);
  }
  const cell = (row: string[], name: string): string => row[column(name)] ?? '';
  const grouped = new Map<string, ReviewAnswer>();
  for (const row of rows) {
    const names = cell(row, 'reviewer') || cell(row, 'source') || file.replace(/\.[^.]*$/, '');
    for (const reviewer of names.split(JOINED)) {
      const instance = cell(row, 'instance');
      const key = JSON.stringify([reviewer, instance]);
      const drawn = cell(row, 'drawn') === 'random' ? 'random' : 'gain';
      const answer = grouped.get(key) ?? {
        instance,
        labels: [],
        reviewer,
        drawn,
        time: toTime(cell(row, 'time')),
      };
      const label = cell(row, 'label');
      if (label !== '') answer.labels!.push(label);
      grouped.set(key, answer);
    }
  }
  return checkAnswers([...grouped.values()], known);
}

function checkAnswers(answers: ReviewAnswer[], known: KnownIds): LoadedFile {
  const instances = new Set<string>();
  const labels = new Set<string>();
  const accepted: ReviewAnswer[] = [];
  for (const answer of answers) {
    const unknown = answer.labels!.filter((label) => !known.isLabel(label));
    unknown.forEach((label) => labels.add(label));
    if (!known.isInstance(answer.instance)) instances.add(answer.instance);
    else if (unknown.length === 0)
      accepted.push({ ...answer, labels: known.mostSpecific(answer.labels!) });
  }
  return {
    answers: accepted,
    unknownInstances: [...instances],
    unknownLabels: [...labels],
    leftOut: answers.length - accepted.length,
  };
}

/** Save a text as a file of this name. */
export function download(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** The command that uses gold.csv: the command of the run with --gold, into another folder. */
export function goldCommand(command: string): string {
  if (!command.startsWith('mhpc consolidate ')) {
    return 'mhpc consolidate VOTES --taxonomy TAXONOMY --gold gold.csv -o OUT2/';
  }
  const argument = `('[^']*'|"[^"]*"|\\S+)`;
  const inputs = command
    .replace(new RegExp(`\\s(-o|--output)[ =]${argument}`), '')
    .replace(new RegExp(`\\s--gold[ =]${argument}`), '');
  return `${inputs} --gold gold.csv -o OUT2/`;
}
