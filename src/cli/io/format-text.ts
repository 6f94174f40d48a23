/**
 * Rows as lines with aligned columns, two spaces between them, each line ended. `paint` colours a
 * cell and gets it with its padding.
 */
export function formatTable(rows: readonly (readonly string[])[], paint = (cell: string) => cell): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  const line = (row: readonly string[]) =>
    row
      .map((cell, index) => paint(cell.padEnd(widths[index] ?? 0)))
      .join('  ')
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
}

/** A column's heading, and the field or the words to show. */
export type Columns<Row> = Readonly<Record<string, (keyof Row & string) | ((row: Row) => unknown)>>;

/**
 * A table with texts from outside, safe for a terminal; a missing value is a dash. `none`: the
 * sentence instead of no rows.
 */
export function tableText<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  none?: string,
  paint?: (cell: string) => string,
): string {
  if (rows.length === 0 && none !== undefined) return `${none}\n`;
  const cell = (row: Row, of: Columns<Row>[string]) => (typeof of === 'string' ? row[of] : of(row)) ?? '-';
  const cells = rows.map((row) => Object.values(columns).map((of) => printable(String(cell(row, of)))));
  return formatTable([Object.keys(columns), ...cells], paint);
}

/** A line for each known fact, its name first; texts as in `tableText`. */
export function factsText(facts: Readonly<Record<string, string | undefined>>): string {
  const known = Object.entries(facts).filter((fact): fact is [string, string] => fact[1] !== undefined);
  return formatTable(known.map(([name, value]) => [name, printable(value)]));
}

/** "90 s", "12 min", "3 h", "4 days": how long ago, for people who have to act on it. */
export function age(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

/** Age of an instant in ISO 8601; `-` for any other text. */
export function ageOf(instant: string, nowMs: number): string {
  const at = Date.parse(instant);
  return Number.isNaN(at) ? '-' : age(Math.max(0, Math.round((nowMs - at) / 1000)));
}

/**
 * Texts come from outside. A terminal obeys control characters in them, and a direction mark shows
 * a reason or a name as another text than it is.
 */
const notShown = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A question mark in place of every character a terminal would obey, or would not show. */
export function printable(text: string): string {
  return text.replaceAll(notShown, '?');
}

/** Each as a line of its own: a line break within one would begin another. */
export function linesText(lines: readonly string[]): string {
  return lines.map((line) => `${printable(line)}\n`).join('');
}

/** As much of the text as fits so many columns. */
export function clip(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, columns - 1)}…`;
}
