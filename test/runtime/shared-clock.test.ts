import { describe, expect, it } from 'vitest';
import { SharedClock } from '../../src/runtime/shared-clock.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';

const hour = 3_600_000;

/** A machine's clock, and a database whose time it does not know. */
function worlds(aheadMs: number) {
  const own = new VirtualClock(1_000_000_000_000);
  const database = { aheadMs: -aheadMs };
  const theirsMs = () => 1_000_000_000_000 + own.monotonicMs() + database.aheadMs;
  const shared = new SharedClock(own);
  /** The question takes this long, and is answered at this part of it. */
  const read = async (tookMs = 0, part = 0.5) => {
    const reading = shared.read(async () => {
      await own.sleep(tookMs * part);
      const answer = theirsMs();
      await own.sleep(tookMs * (1 - part));
      return answer;
    });
    await own.advance(tookMs);
    await reading;
  };
  const offMs = () => Math.abs(shared.nowMs() - theirsMs());
  return { own, database, shared, read, offMs };
}

describe('a clock with the time of the database', () => {
  it('has the own time until the first reading, and that of the database from then on', async () => {
    const { own, read, shared, offMs } = worlds(hour);
    expect(shared.nowMs()).toBe(own.nowMs());
    await read();
    expect(offMs()).toBe(0);
    await own.advance(10 * hour);
    expect(offMs()).toBe(0);
  });

  it.each([0, 0.5, 1])(
    'keeps the own time where a slow answer does not prove it wrong (%d of it passed)',
    async (part) => {
      const { read, offMs } = worlds(0);
      await read(800, part);
      expect(offMs()).toBe(0);
    },
  );

  it('does not follow a step of the own clock', async () => {
    const { own, read, offMs } = worlds(0);
    await read();
    own.stepWall(-hour);
    expect(offMs()).toBe(0);
  });

  it('is moved by a slow answer no further than that proves', async () => {
    const { database, read, offMs } = worlds(-hour);
    await read(10);
    expect(offMs()).toBeLessThanOrEqual(5);
    for (const part of [0, 1]) await read(5_000, part);
    expect(offMs()).toBeLessThanOrEqual(5);
    database.aheadMs = -2 * hour;
    await read(40, 0.9);
    expect(offMs()).toBeLessThanOrEqual(40);
  });

  it('keeps its time where a reading fails', async () => {
    const { shared, read, offMs } = worlds(hour);
    await read();
    await expect(shared.read(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(offMs()).toBe(0);
  });
});
