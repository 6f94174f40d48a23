import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareInstants, isInstant, parseInstant } from '../../src/domain/instant.ts';

const millis = fc.integer({ min: Date.parse('0002-01-01T00:00:00Z'), max: Date.parse('9998-12-31T23:59:59Z') });

/** An instant in nanoseconds and one of the ways to write it. */
const written = fc
  .tuple(
    millis,
    fc.integer({ min: 0, max: 999_999 }),
    fc.constantFrom(0, 3, 6, 9),
    fc.constantFrom(undefined, 0, 90, -330, 1439),
  )
  .map(([ms, nanosBelow, digits, offset]) => {
    const fraction =
      `${String(((ms % 1000) + 1000) % 1000).padStart(3, '0')}${String(nanosBelow).padStart(6, '0')}`.slice(0, digits);
    const local = new Date(ms + (offset ?? 0) * 60_000).toISOString().slice(0, 19);
    const second = BigInt(Math.floor(ms / 1000)) * 1_000_000_000n;
    const text = `${local}${fraction === '' ? '' : `.${fraction}`}${zone(offset)}`;
    return { text, nanos: second + BigInt(fraction.padEnd(9, '0')) };
  });

function zone(offset: number | undefined): string {
  if (offset === undefined) return 'Z';
  const minutes = Math.abs(offset);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

describe('instants', () => {
  it('parse to the nanosecond, in every form', () => {
    fc.assert(
      fc.property(written, ({ text, nanos }) => {
        expect(parseInstant(text)).toBe(nanos);
        expect(isInstant(text)).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });

  it('compare as their nanoseconds do, in every pair of forms', () => {
    const near = fc.tuple(written, written, fc.boolean()).map(([a, b, same]) => [a, same ? a : b] as const);
    fc.assert(
      fc.property(near, ([a, b]) => {
        expect(compareInstants(a.text, b.text)).toBe(a.nanos === b.nanos ? 0 : a.nanos < b.nanos ? -1 : 1);
      }),
      { numRuns: 3_000 },
    );
  });

  it('are refused where Date would quietly take another day', () => {
    const dates = fc.record({
      year: fc.integer({ min: 1, max: 9999 }),
      month: fc.integer({ min: 1, max: 12 }),
      day: fc.integer({ min: 1, max: 31 }),
    });
    fc.assert(
      fc.property(dates, ({ year, month, day }) => {
        const two = (n: number) => String(n).padStart(2, '0');
        const text = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}T00:00:00Z`;
        const date = new Date(text);
        const exists = !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 10) === text.slice(0, 10);
        expect(isInstant(text)).toBe(exists);
      }),
      { numRuns: 2_000 },
    );
  });
});
