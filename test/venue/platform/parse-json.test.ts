import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson, parsePlainJson, storableText } from '../../../src/venue/parse-json.ts';

describe('parseJson', () => {
  it.each([
    ['{"version":9007199254740993}', { version: '9007199254740993' }],
    ['{"version":9007199254740992}', { version: '9007199254740992' }],
    ['{"version" : 5 }', { version: '5' }],
    ['{\n"version"\t:\r\n5}', { version: '5' }],
    ['{"version":-1}', { version: '-1' }],
    ['{"version":1.0}', { version: '1.0' }],
    ['{"version":1e3}', { version: '1e3' }],
    ['{"version":1E+3,"a":1}', { version: '1E+3', a: 1 }],
    ['{"version":null}', { version: null }],
    ['{"version":""}', { version: '' }],
    ['{"version":"7"}', { version: '7' }],
    ['{"a":{"version":3},"version":9223372036854775807}', { a: { version: '3' }, version: '9223372036854775807' }],
    ['[{"version":1},{"version":2}]', [{ version: '1' }, { version: '2' }]],
  ])('keeps the digits of every version as they stood: %s', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  it('finds a version whose key is written with escapes', () => {
    expect(parseJson('{"\\u0076ersion":9007199254740993}')).toEqual({ version: '9007199254740993' });
    expect(parseJson('{"v\\u0065rsion":1.0,"text":"\\u00e9"}')).toEqual({ version: '1.0', text: 'é' });
  });

  it('makes names that Postgres takes, at any depth', () => {
    const parsed = parseJson('{"meta":[{"a\\u0000b":{"\\ud800":1}}],"__proto__":{"x\\u0000":2}}');
    expect(JSON.stringify(parsed)).toBe('{"meta":[{"a\ufffdb":{"\ufffd":1}}],"__proto__":{"x\ufffd":2}}');
  });

  it('lets the last of two equal keys win, on both ways', () => {
    expect(parseJson('{"version":1,"version":9007199254740993}')).toEqual({ version: '9007199254740993' });
    expect(parseJson('{"version":9007199254740993,"\\u0076ersion":2}')).toEqual({ version: '2' });
  });

  it.each([
    '{"text":"\\"version\\":5","n":1}',
    '{"text":"he said \\"version\\": 5, \\"version\\":6"}',
    '{"text":"version","other":"version"}',
    '{"text":"a\\\\","version2":1}',
    '{"a\\"version":5}',
    '{"text":"x\\\\\\"version\\":12"}',
  ])('leaves strings alone that only look like a version: %s', (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it('makes strings of integers and numbers that a double would change', () => {
    expect(
      parseJson('{"seq":12345678901234567,"small":12,"price":0.5,"huge":1e400,"list":[-9007199254740993]}'),
    ).toEqual({
      seq: '12345678901234567',
      small: 12,
      price: 0.5,
      huge: '1e400',
      list: ['-9007199254740993'],
    });
  });

  it.each([
    ['9007199254740993', '9007199254740993'],
    ['-9007199254740993', '-9007199254740993'],
    [' \n9007199254740993\n', '9007199254740993'],
    ['1e400', '1e400'],
    ['9007199254740991', 9007199254740991],
    ['0.5', 0.5],
  ])('makes no exception of a number that stands alone: %s', (text, value) => {
    expect(parseJson(text)).toBe(value);
    expect(parsePlainJson(text)).toBe(value);
  });

  it('repairs what Postgres cannot store: NUL and lone surrogates', () => {
    expect(parseJson('{"a":"x\\u0000y","b":"\\ud800","c":"\\ud83d\\ude00"}')).toEqual({
      a: 'x\ufffdy',
      b: '\ufffd',
      c: '😀',
    });
    expect(storableText('plain')).toBe('plain');
  });

  it.each(['', '{', '{"version":}', '{"version":01x}', '\ufeff{}', "{'a':1}", '{"version":5,}'])(
    'throws for %j',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );

  it('does not let a `__proto__` key become a prototype', () => {
    const value = parseJson('{"__proto__":{"admin":true},"version":1}') as Record<string, unknown>;
    expect(value['admin']).toBeUndefined();
    expect(Object.hasOwn(value, '__proto__')).toBe(true);
  });
});

describe('parsePlainJson', () => {
  it('leaves versions numbers and texts as they are, and keeps the digits that a double would change', () => {
    const text = '{"theme":{"version":2},"text":"x\\u0000\\ud800","\\u0076ersion":3,"seq":[12345678901234567,1e400]}';
    expect(parsePlainJson(text)).toEqual({
      theme: { version: 2 },
      text: 'x\0\ud800',
      version: 3,
      seq: ['12345678901234567', '1e400'],
    });
  });

  it('throws for what is not JSON', () => {
    expect(() => parsePlainJson('{')).toThrow(SyntaxError);
  });
});

describe('issue: An average price with forty digits was shown as 100, without its last digits.', () => {
  const digits = (minLength: number, maxLength: number) =>
    fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength });

  /**
   * A whole part that a double has, zeros, and digits that no double has
   * behind it; as averages of forty digits are.
   */
  const number = fc
    .tuple(fc.boolean(), fc.nat({ max: 1_000_000 }), fc.nat({ max: 30 }), digits(0, 12))
    .map(([minus, whole, zeros, tail]) => `${minus ? '-' : ''}${whole}.${'0'.repeat(zeros)}${tail}7`);

  /**
   * A platform that writes decimals as JSON numbers sent 100.000…7. Its double is 100,
   * which is whole, and so it passed for a number that nothing is lost of: another
   * average than the same order had as a text.
   */
  it.each([parseJson, parsePlainJson])('a JSON number keeps every digit: %o', (parse) => {
    fc.assert(
      fc.property(number, (text) => {
        const { avgPrice } = parse(`{"avgPrice":${text}}`) as { avgPrice: number | string };
        expect(new Decimal(avgPrice).equals(new Decimal(text))).toBe(true);
      }),
      { numRuns: 500, examples: [['100.00000000000000000000000000000000000007']] },
    );
  });
});
