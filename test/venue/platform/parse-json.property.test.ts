import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../src/venue/parse-json.ts';

/** JSON values whose keys and strings are full of what the text search looks for. */
const tricky = fc.oneof(
  fc.string(),
  fc.constantFrom(
    'version',
    '"version":',
    '"version":5',
    '\\"version":5',
    '\\',
    '"',
    ',"version":1',
    'x"version" : 2',
    '\u0000',
  ),
);
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    tricky,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(tricky, fc.constant('version')), tie('value'), { maxKeys: 5 }),
  ),
})).value;

const storable = (text: string) => text.toWellFormed().replaceAll('\0', '\ufffd');

function expected(value: unknown, key?: string): unknown {
  if (typeof value === 'number') return key === 'version' ? String(value) : value;
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map((item) => expected(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [storable(name), expected(child, name)]));
}

describe('parseJson', () => {
  it('reads any JSON as JSON.parse does, but for the digits of versions', () => {
    fc.assert(
      fc.property(values, fc.constantFrom(undefined, 1), (value, indent) => {
        // Compared with what JSON.parse makes of the text, not with `value`: V8 13.6 reads a key of
        // one escaped character (`"\\""`) as `\\`.
        const text = JSON.stringify(value, null, indent);
        expect(parseJson(text)).toEqual(expected(JSON.parse(text)));
      }),
      { numRuns: 3_000 },
    );
  });

  it('keeps every int64 digit', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), tricky, (version, text) => {
        const frame = `{"text":${JSON.stringify(text)},"data":{"version":${version}}}`;
        expect((parseJson(frame) as { data: { version: string } }).data.version).toBe(String(version));
      }),
      { numRuns: 1_000 },
    );
  });
});
