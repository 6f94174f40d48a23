import { describe, expect, it } from 'vitest';
import { compareInstants, formatInstant, isInstant, parseInstant } from '../../src/domain/instant.ts';

describe('parseInstant', () => {
  it.each([
    ['1970-01-01T00:00:00Z', 0n],
    ['1970-01-01T00:00:00.000000001Z', 1n],
    ['1969-12-31T23:59:59.999999999Z', -1n],
    ['2026-11-21T12:00:00+02:00', 1795255200000000000n],
    ['2026-11-21T10:00:00Z', 1795255200000000000n],
    ['2026-11-21T04:30:00-05:30', 1795255200000000000n],
    ['2024-02-29T00:00:00Z', 1709164800000000000n],
    ['2000-02-29T00:00:00.5Z', 951782400500000000n],
    ['0001-01-01T00:00:00Z', -62135596800000000000n],
    ['9999-12-31T23:59:59.999Z', 253402300799999000000n],
  ])('takes %s', (text, nanos) => {
    expect(parseInstant(text)).toBe(nanos);
    expect(isInstant(text)).toBe(true);
  });

  it.each([
    '2026-02-30T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T23:60:00Z',
    '2026-06-30T23:59:60Z',
    '0000-01-01T00:00:00Z',
    '+275760-09-13T00:00:00.000Z',
    '275760-09-13T00:00:00Z',
    '-000001-01-01T00:00:00Z',
    '2026-01-01',
    '2026-01-01T00:00Z',
    '2026-01-01T00:00:00',
    '2026-01-01 00:00:00Z',
    '2026-01-01t00:00:00z',
    '2026-01-01T00:00:00z',
    '2026-01-01T00:00:00.Z',
    '2026-01-01T00:00:00,5Z',
    '2026-01-01T00:00:00.1234567890Z',
    '2026-01-01T00:00:00Z ',
    ' 2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z\n',
    '2026-01-01T00:00:00ZZ',
    '2026-01-01T00:00:00+0100',
    '2026-01-01T00:00:00+01',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+01:60',
    '2026-1-1T00:00:00Z',
    '２026-01-01T00:00:00Z',
    '1795255200',
    '',
    'now',
  ])('refuses %j', (text) => {
    expect(parseInstant(text)).toBeUndefined();
    expect(isInstant(text)).toBe(false);
  });

  it.each([[0], [null], [undefined], [new Date(0)]])('refuses %s, which is not text', (value) => {
    expect(parseInstant(value)).toBeUndefined();
  });
});

describe('compareInstants', () => {
  it('compares instants and not their text', () => {
    expect(compareInstants('2026-11-21T10:00:00Z', '2026-11-21T10:00:00.000Z')).toBe(0);
    expect(compareInstants('2026-11-21T12:00:00+02:00', '2026-11-21T10:00:00Z')).toBe(0);
    expect(compareInstants('2026-11-21T10:00:00.9Z', '2026-11-21T10:00:00.10Z')).toBe(1);
    expect(compareInstants('2026-11-21T10:00:00Z', '2026-11-21T10:00:00.000000001Z')).toBe(-1);
    expect(compareInstants('2026-11-21T11:00:00+02:00', '2026-11-21T10:00:00Z')).toBe(-1);
  });
});

describe('formatInstant', () => {
  it('writes UTC with milliseconds', () => {
    expect(formatInstant(1795255200123)).toBe('2026-11-21T10:00:00.123Z');
  });
});
