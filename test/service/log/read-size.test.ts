import { describe, expect, it } from 'vitest';
import { ReadSize } from '../../../src/service/log/relay.ts';

const rows = (count: number, characters: number) =>
  Array.from({ length: count }, (_, i) => ({
    topic: 'updates' as const,
    key: String(i),
    payload: 'x'.repeat(characters),
  }));

describe('the size of a read of the log', () => {
  it('is the most that is allowed while rows are small, also behind an empty read', () => {
    const size = new ReadSize({ maxRows: 1000, maxReadBytes: 1_000_000 });
    size.read(rows(1000, 900));
    size.read([]);
    expect(size.rows).toBe(1000);
  });

  it('falls to what fits as soon as rows are large, and never below one', () => {
    const size = new ReadSize({ maxRows: 1000, maxReadBytes: 1_000_000 });
    size.read(rows(100, 100_000));
    expect(size.rows).toBe(10);
    size.read(rows(1, 3_000_000));
    expect(size.rows).toBe(1);
  });

  it('halves with each failure and doubles with each success after it', () => {
    const size = new ReadSize({ maxRows: 8, maxReadBytes: 1000 });
    const seen = [false, false, false, false, true, true, true, true].map((succeeds) => {
      if (succeeds) size.read(rows(1, 10));
      else size.failed();
      return size.rows;
    });
    expect(seen).toEqual([4, 2, 1, 1, 2, 4, 8, 8]);
  });
});
