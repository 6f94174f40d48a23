import { pathsOf } from '../../../src/venue/check/hostile-texts.ts';
import { parseJson } from '../../../src/venue/parse-json.ts';

/** Each way in which one field may come otherwise than in a good answer. */
const variations = ['absent', 'null', 'empty', 'another type', 'unknown word', 'number or text'] as const;
type Variation = (typeof variations)[number];

/** What was made of an answer: a word, and all that follows from it. */
export interface WireResult {
  readonly word: string;
  readonly facts?: unknown;
}

/** A good answer of the platform, and the real code that reads it. */
export interface WireSubject {
  readonly name: string;
  /** JSON text. */
  readonly answer: string;
  read(text: string): Promise<WireResult> | WireResult;
}

interface FieldRow {
  readonly field: string;
  /**
   * By variation: `=` as if nothing had changed, `without` the same verdict
   * without that field, else the other verdict.
   */
  readonly cells: Readonly<Record<Variation, string>>;
}

/** Each field of the answer, in each variation, through the code that reads it. */
export async function rowsOf(subject: WireSubject): Promise<FieldRow[]> {
  const base = await subject.read(subject.answer);
  const answer: unknown = parseJson(subject.answer);
  const rows: FieldRow[] = [];
  for (const path of pathsOf(answer)) {
    const cells: Partial<Record<Variation, string>> = {};
    for (const variation of variations) {
      const text = JSON.stringify(varied(answer, path, variation)).replace(/"version":"(\d+)"/g, '"version":$1');
      cells[variation] = cellOf(base, await subject.read(text));
    }
    rows.push({ field: path.join('.'), cells: cells as FieldRow['cells'] });
  }
  return rows;
}

export function tableOf(subject: WireSubject, rows: readonly FieldRow[]): string {
  const head = `| ${subject.name} | ${variations.join(' | ')} |\n|---|${variations.map(() => '---|').join('')}`;
  const lines = rows.map(
    ({ field, cells }) => `| \`${field}\` | ${variations.map((each) => cells[each]).join(' | ')} |`,
  );
  return [head, ...lines, ''].join('\n');
}

function cellOf(base: WireResult, other: WireResult): string {
  if (base.word !== other.word) return other.word;
  return JSON.stringify(base.facts) === JSON.stringify(other.facts) ? '=' : 'without';
}

function varied(answer: unknown, path: readonly string[], variation: Variation): unknown {
  const copy: unknown = structuredClone(answer);
  let parent = copy as Record<string, unknown>;
  for (const name of path.slice(0, -1)) parent = parent[name] as Record<string, unknown>;
  const name = path.at(-1) ?? '';
  if (variation === 'absent') {
    if (Array.isArray(parent)) parent.splice(0, 1);
    else delete parent[name];
  } else parent[name] = variedValue(parent[name], variation);
  return copy;
}

function variedValue(good: unknown, variation: Exclude<Variation, 'absent'>): unknown {
  switch (variation) {
    case 'null':
      return null;
    case 'empty':
      return '';
    case 'another type':
      return typeof good === 'object' ? true : { odd: true };
    case 'unknown word':
      return 'SOMETHING-NEW';
    case 'number or text':
      return typeof good === 'string' ? asNumber(good) : typeof good === 'object' ? 7 : String(good);
  }
}

function asNumber(text: string): number {
  const value = Number(text);
  return text !== '' && Number.isFinite(value) ? value : 7;
}
