// Tables as text, RFC 4180.

/** The rows of a CSV text. Quotes, line breaks in cells, a byte order mark and any line end are fine. */
export function parseCsv(text: string): string[][] {
  const content = text.startsWith('\ufeff') ? text.slice(1) : text;
  const separator = guessSeparator(content);
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < content.length) {
    let cell: string;
    [cell, at] =
      content[at] === '"' ? quotedCell(content, at, separator) : plainCell(content, at, separator);
    row.push(cell);
    if (content[at] === separator) {
      at += 1;
      if (at < content.length) continue;
      row.push(''); // The text ends with a separator: a last, empty cell.
    }
    if (content[at] === '\r') at += 1;
    if (content[at] === '\n') at += 1;
    if (row.length > 1 || row[0] !== '') rows.push(row);
    row = [];
  }
  return rows;
}

/** Spreadsheets of some countries write semicolons. */
function guessSeparator(text: string): string {
  const header = text.slice(0, text.search(/[\r\n]|$/));
  if (header.includes(',')) return ',';
  return header.includes(';') ? ';' : header.includes('\t') ? '\t' : ',';
}

function quotedCell(text: string, start: number, separator: string): [cell: string, end: number] {
  let cell = '';
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return [cell + text.slice(at), text.length];
    cell += text.slice(at, quote);
    at = quote + 1;
    if (text[at] !== '"') break;
    cell += '"';
    at += 1;
  }
  // Whatever stands between the closing quote and the separator still belongs to the cell.
  const [rest, end] = plainCell(text, at, separator);
  return [cell + rest, end];
}

function plainCell(text: string, start: number, separator: string): [cell: string, end: number] {
  let end = start;
  while (end < text.length && text[end] !== separator && text[end] !== '\r' && text[end] !== '\n')
    end += 1;
  return [text.slice(start, end), end];
}

export const formatCsv = (rows: string[][]): string =>
  rows.map((row) => row.map(formatCell).join(',') + '\r\n').join('');

/** Spaces at the ends are quoted too: some programs drop them otherwise. */
const formatCell = (cell: string): string =>
  /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
