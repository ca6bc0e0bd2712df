// Tables as CSV files (RFC 4180), which the reader saves from the page.

export type Cell = string | number | boolean | null | undefined;
export type Table = [header: string[], ...rows: Cell[][]];

/** One file: cells with commas, quotes or line breaks are quoted; lines end in CRLF. */
export const toCsv = (table: Table): string =>
  table.map((row) => row.map(quote).join(',') + '\r\n').join('');

function quote(cell: Cell): string {
  const text = cell == null ? '' : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** "votes.csv", "Agreement between sources" -> votes-agreement-between-sources.csv */
export function fileName(report: string, title: string): string {
  const stem = report.replace(/(\.[a-z0-9]{1,8})+$/i, '');
  const name = `${stem} ${title}`.normalize('NFKC').toLocaleLowerCase('en');
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? ['table'];
  return `${words.join('-').slice(0, 80)}.csv`;
}

/** Let the browser save the table. Spreadsheets need the mark at the start to read UTF-8. */
export function download(table: Table, name: string): void {
  const blob = new Blob(['\ufeff', toCsv(table)], { type: 'text/csv;charset=utf-8' });
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
