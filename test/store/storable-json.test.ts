import { describe, expect, it } from 'vitest';
import { storableJson } from '../../src/store/session/write-once.ts';

describe('storable JSON', () => {
  it('is the value itself where Postgres can take it', () => {
    const value = { text: 'ü "q" \\ 日本 😀', list: [1, null, true, { a: '1.50' }] };
    expect(JSON.parse(storableJson(value))).toEqual(value);
  });

  it('has int64 as digits, a visible symbol for NUL, and U+FFFD for half a character, in names as well', () => {
    expect(storableJson({ big: 9_223_372_036_854_775_807n, 'n\0': 'a\0b', '\ud800': ['\udfff'] })).toBe(
      '{"big":"9223372036854775807","n\u2400":"a\u2400b","\ufffd":["\ufffd"]}',
    );
  });

  it('leaves out what is absent', () => {
    expect(storableJson({ a: undefined, b: 1 })).toBe('{"b":1}');
  });
});
