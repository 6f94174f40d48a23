import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';

/** A text with something wrong. `isWhole`: it is one message, so it may be an order. */
interface HostileText {
  readonly what: string;
  readonly text: string;
  readonly isWhole: boolean;
}

const cuts = 16;
const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
/** As deep as fits a frame of 64 KiB. */
const deepest = nested(30_000);

/** What each field is replaced by, as JSON. */
const values: Readonly<Record<string, string>> = {
  null: 'null',
  'the empty text': '""',
  blanks: '"  "',
  'another word': '"SOMETHING-NEW"',
  'a text of 5,000 letters': `"${'x'.repeat(5_000)}"`,
  'a text that Postgres refuses': '"a\\u0000\\ud800"',
  zero: '0',
  'a negative number': '-1',
  'a number of 20 digits': '12345678901234567890',
  'a number beyond doubles': '1e999',
  true: 'true',
  'an empty list': '[]',
  'a list of nulls': '[null,null]',
  'an empty object': '{}',
  // Deep enough for the stack, if a function calls itself for each level.
  'a nesting of 10,000 levels': nested(10_000),
};

/** Hostile texts from a good one: cut, doubled, nested too deep, and each field changed. */
export function* hostileTexts(good: string): Iterable<HostileText> {
  for (let part = 0; part < cuts; part += 1) {
    const length = Math.floor((good.length * part) / cuts);
    yield { what: `cut after ${length} characters`, text: good.slice(0, length), isWhole: false };
  }
  yield { what: 'doubled', text: good + good, isWhole: false };
  yield { what: 'nested 30,000 levels deep', text: deepest, isWhole: false };
  const content = jsonOrUndefined(good);
  // A word without fields, as `ping`.
  if (typeof content !== 'object' || content === null) return;
  // `parseJson` takes its slow way for an escape, and the stack with it.
  const escaped = withField(content, ['another'], `["\\u0061",${deepest}]`);
  yield { what: 'with an escape and a nesting', text: escaped, isWhole: true };
  for (const path of pathsOf(content)) {
    const name = path.join('.');
    yield { what: `without ${name}`, text: withField(content, path, undefined), isWhole: true };
    for (const [what, value] of Object.entries(values))
      yield { what: `with ${what} as ${name}`, text: withField(content, path, value), isWhole: true };
  }
}

/** The path of each field, a parent before its own fields; of a list, its first item. */
export function pathsOf(value: unknown, prefix: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  const entries = Object.entries(value).slice(0, Array.isArray(value) ? 1 : undefined);
  return entries.flatMap(([name, child]) => [[...prefix, name], ...pathsOf(child, [...prefix, name])]);
}

/** Stands in no text of a venue: JSON is put in its place after the rest is written out. */
const marker = 'tidemark:the-field-that-is-changed';

function withField(content: unknown, path: readonly string[], json: string | undefined): string {
  const copy = structuredClone(content) as Record<string, unknown>;
  let parent = copy;
  for (const name of path.slice(0, -1)) parent = parent[name] as Record<string, unknown>;
  const name = path.at(-1) ?? '';
  if (json !== undefined) parent[name] = marker;
  else if (Array.isArray(parent)) parent.splice(0, 1);
  else delete parent[name];
  return JSON.stringify(copy).replace(`"${marker}"`, () => json ?? '');
}
