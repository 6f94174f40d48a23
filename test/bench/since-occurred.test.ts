import { describe, expect, it } from 'vitest';
import { waitsOf } from '../../bench/since-occurred.ts';

const atMs = Date.parse('2026-11-21T12:00:00Z');
const record = (cause: string, occurredAt: string, readAfterMs: number, sentAfterMs: number) => ({
  value: JSON.stringify({ cause, occurredAt, observedAt: new Date(atMs + readAfterMs).toISOString() }),
  timestampMs: atMs + sentAfterMs,
});

describe('the time since a change', () => {
  it('counts from occurredAt until its frame was read, and until it was sent', () => {
    const occurredAt = '2026-11-21T12:00:00.000000Z';
    const records = Array.from({ length: 100 }, (_, i) => record('stream', occurredAt, i + 1, 2 * (i + 1)));
    expect(waitsOf(records)).toEqual({ read: { p50: 50, p99: 99 }, sent: { p50: 100, p99: 198 } });
  });

  it('has the microseconds of the platform', () => {
    const { read } = waitsOf([record('stream', '2026-11-21T12:00:00.000250Z', 1, 2)]);
    expect(read.p50).toBeCloseTo(0.75, 6);
  });

  it('leaves out what a list has shown, and records without a value', () => {
    const old = record('snapshot', '2026-11-20T12:00:00Z', 1, 2);
    const waits = waitsOf([old, { value: undefined, timestampMs: atMs }]);
    expect(waits).toEqual({ read: { p50: Number.NaN, p99: Number.NaN }, sent: { p50: Number.NaN, p99: Number.NaN } });
  });
});
