import { describe, expect, it, onTestFinished } from 'vitest';
import { Lease } from '../../../src/runtime/lease.ts';
import { PublishError, type PublishRow } from '../../../src/service/log/publisher.ts';
import { LaneLog } from '../../support/orders/lane-log.ts';
import { openRelay } from '../../support/orders/open-relay.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

function logOfThousand() {
  const clock = new VirtualClock();
  const log = new LaneLog(clock);
  const lease = new Lease(clock, 3_600_000);
  lease.confirm(1n, 0);
  for (let i = 0; i < 100; i += 1)
    log.commit(Array.from({ length: 10 }, (_, n) => ({ topic: 'updates', key: `prediction:${i}-${n}` })));
  return { clock, log, lease };
}

describe('issue: Behind a slow link no shard moved any more: the same large flush failed again and again.', () => {
  it.each([
    ['rows', (rows: readonly PublishRow[]) => rows.length > 400],
    ['bytes', (rows: readonly PublishRow[]) => rows.reduce((sum, { payload }) => sum + payload.length, 0) > 100],
  ])('flushes fewer %s at once after a flush took too long, until one comes through', async (_, tooSlow) => {
    const { clock, log, lease } = logOfThousand();
    const written = new Set<string>();
    const flush = async (rows: readonly PublishRow[]) => {
      if (tooSlow(rows)) throw new PublishError('timeout', 'flushing took more than 20000 ms');
      for (const { key } of rows) written.add(key);
    };
    const statePublisher = { takeOver: async () => undefined, flush, close: async () => undefined };
    const relay = openRelay({ log, lease, clock, statePublisher }, { states: { maxReadBytes: 5000 } });
    await relay.start();
    onTestFinished(() => relay.drain(AbortSignal.abort()));
    relay.begin(log.batch);
    expect(await clock.advanceUntil(() => written.size === 1_000, 600_000)).toBe(true);
  });
});

describe('issue: The state topic stood still behind a slow database, since no read of the log got smaller.', () => {
  it('reads less at once after a read failed, until one comes through', async () => {
    const { clock, log, lease } = logOfThousand();
    const { readNewestAfter } = log;
    log.readNewestAfter = async (lane, afterSeq, limit, maxBytes) => {
      if (limit > 400) throw new Error('canceling statement due to statement timeout');
      return readNewestAfter.call(log, lane, afterSeq, limit, maxBytes);
    };
    const written = new Set<string>();
    const flush = async (rows: readonly PublishRow[]) => {
      for (const { key } of rows) written.add(key);
    };
    const statePublisher = { takeOver: async () => undefined, flush, close: async () => undefined };
    const relay = openRelay({ log, lease, clock, statePublisher });
    await relay.start();
    onTestFinished(() => relay.drain(AbortSignal.abort()));
    relay.begin(log.batch);
    expect(await clock.advanceUntil(() => written.size === 1_000, 600_000)).toBe(true);
  });
});
