import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJsonBody } from '../../../src/service/rest/read-body.ts';

const parse = (text: string) => parseJsonBody(Buffer.from(text));

/** Text that is well formed and has no NUL, as every string of a body must be. */
const word = fc
  .string({ unit: 'grapheme', maxLength: 8 })
  .filter((text) => !text.includes('\0') && text !== '__proto__');
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    word,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(word, tie('value'), { maxKeys: 4 }),
  ),
}));

describe('a JSON body', () => {
  it('reads as JSON.parse reads it, whatever blanks and escapes it is written with', () => {
    const escapeLetters = (text: string) =>
      text.replace(/[a-z]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 1, '\t', '\r\n '), fc.boolean(), (body, indent, escaped) => {
        const text = JSON.stringify(body, undefined, indent);
        // Letters of keys and strings only: `true` and `null` are no strings.
        const written = escaped
          ? text.replace(/"(?:[^"\\]|\\.)*"/g, (string) => (string.includes('\\') ? string : escapeLetters(string)))
          : text;
        expect(parse(written)).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  it('with a key twice in one object is refused, however deep and however written', () => {
    fc.assert(
      fc.property(
        word,
        value,
        value,
        fc.integer({ min: 0, max: 10 }),
        fc.boolean(),
        (key, one, two, depth, escaped) => {
          const first = JSON.stringify(key);
          const second =
            escaped && key !== ''
              ? `"${[...key].map((char) => [...Array(char.length).keys()].map((i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')).join('')}"`
              : first;
          const object = `{${first}:${JSON.stringify(one)}, ${second} :${JSON.stringify(two)}}`;
          const text = `${'['.repeat(depth)}${object}${']'.repeat(depth)}`;
          expect(parse(text)).toMatchObject({ ok: false, code: 'INVALID_JSON' });
        },
      ),
    );
  });

  it('may have the same key in different objects', () => {
    const text = '{"a":{"a":1,"b":{"a":2}},"b":[{"a":1},{"a":1}]}';
    expect(parse(text)).toEqual({ ok: true, value: JSON.parse(text) });
  });

  it('never throws, whatever bytes come', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(parseJsonBody(bytes)).toHaveProperty('ok');
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0a1 \n'), maxLength: 60 }), (text) => {
        const result = parse(text);
        if (result.ok) expect(result.value).toEqual(JSON.parse(text));
      }),
    );
  });

  it('is nested 16 deep at most', () => {
    expect(parse(`${'['.repeat(16)}${']'.repeat(16)}`).ok).toBe(true);
    expect(parse(`${'{"a":'.repeat(17)}1${'}'.repeat(17)}`).ok).toBe(false);
    expect(parse(`"${'['.repeat(100)}"`).ok).toBe(true);
  });
});
