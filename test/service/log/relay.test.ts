import { describe, expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { PublishError, type StatePublisher } from '../../../src/service/log/publisher.ts';
import { LaneLog } from '../../support/orders/lane-log.ts';
import { LossyPublisher } from '../../support/orders/lossy-publisher.ts';
import { openRelay } from '../../support/orders/open-relay.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const takesAll: StatePublisher = {
  takeOver: async () => undefined,
  flush: async () => undefined,
  close: async () => undefined,
};

function relayOnVirtualTime(statePublisher = takesAll) {
  const clock = new VirtualClock();
  const log = new LaneLog(clock);
  const lease = new Lease(clock, 3000);
  const publisher = new LossyPublisher(clock, seededRandom(1));
  onTestFinished(() => expect(publisher.violations).toEqual([]));
  const metrics = createMetrics();
  lease.confirm(1n, 0);
  const relay = openRelay({ log, publisher, statePublisher, lease, clock, metrics }, { states: { maxOrders: 100 } });
  const commit = (count: number) => {
    const batch = log.commit(Array.from({ length: count }, (_, i) => ({ topic: 'updates', key: `prediction:${i}` })));
    relay.publishCommitted(batch);
    return batch;
  };
  return { clock, log, lease, publisher, metrics, relay, commit };
}

describe('the relay', () => {
  it('publishes several batches that wait together in one send of at most 1,000 rows', async () => {
    const { clock, publisher, relay, commit } = relayOnVirtualTime();
    publisher.delayMs = 10;
    await relay.start();
    relay.begin(0n);
    await clock.advance(20);
    commit(1);
    await clock.advance(1);
    for (let i = 0; i < 6; i += 1) commit(300);
    await clock.advance(100);
    expect([publisher.sends, publisher.largestSend, publisher.arrived.length]).toEqual([3, 900, 1801]);
  });

  it('sends nothing while its last renewal is too old, and goes on from memory with the next', async () => {
    const { clock, lease, log, publisher, relay, commit } = relayOnVirtualTime();
    await relay.start();
    relay.begin(0n);
    await clock.advance(3000);
    commit(5);
    await clock.advance(10_000);
    expect(publisher.sends).toBe(0);
    lease.confirm(1n, clock.monotonicMs());
    await clock.advance(100);
    // One read for each topic, at the start.
    expect([publisher.arrived.length, log.reads]).toEqual([5, 2]);
  });

  it('saves its position about every 250 ms, not with each send, and the last one when it drains', async () => {
    const { clock, log, lease, relay, commit } = relayOnVirtualTime();
    let saves = 0;
    const save = log.savePosition.bind(log);
    log.savePosition = (...args) => {
      if (args[2] === 'log') saves += 1;
      return save(...args);
    };
    await relay.start();
    relay.begin(0n);
    for (let i = 0; i < 100; i += 1) {
      commit(1);
      await clock.advance(10);
      lease.confirm(1n, clock.monotonicMs());
    }
    expect(saves).toBeLessThanOrEqual(4);
    const last = commit(1);
    const drained = relay.drain(new AbortController().signal);
    await clock.advance(100);
    await drained;
    for (const cursor of ['log', 'state'] as const) expect(log.position(cursor)).toBe(last.lastSeq);
  });

  it('gives up draining with the first failure: the log keeps the rest', async () => {
    const { clock, publisher, relay, commit } = relayOnVirtualTime();
    await relay.start();
    relay.begin(0n);
    await clock.advance(10);
    publisher.fate = () => 'refused';
    commit(5);
    const drained = relay.drain(new AbortController().signal);
    await clock.advance(50);
    await drained;
    expect(publisher.sends).toBe(1);
    await clock.advance(60_000);
    expect(publisher.sends).toBe(1);
  });

  it('gives up draining when it is told to, also in the middle of a send that hangs', async () => {
    const { clock, publisher, relay, commit } = relayOnVirtualTime();
    await relay.start();
    relay.begin(0n);
    await clock.advance(10);
    publisher.delayMs = 1_000_000;
    commit(5);
    await clock.advance(10);
    const deadline = new AbortController();
    const drained = relay.drain(deadline.signal);
    deadline.abort();
    await drained;
  });

  it('works with Kafka down from the start: the log fills, memory stays bounded, and everything arrives later', async () => {
    const { clock, lease, log, publisher, metrics, relay, commit } = relayOnVirtualTime();
    publisher.fate = () => 'refused';
    await relay.start();
    relay.begin(0n);
    for (let i = 0; i < 500; i += 1) {
      commit(50);
      await clock.advance(100);
      lease.confirm(1n, clock.monotonicMs());
    }
    expect(publisher.arrived).toEqual([]);
    const pending = (await metrics.relay.pending.get()).values[0]?.value ?? 0;
    expect(pending).toBeGreaterThan(20_000);
    publisher.fate = () => 'ok';
    await clock.advance(2900);
    expect(publisher.arrived.map(({ payload }) => payload)).toEqual(log.rows.map(({ payload }) => payload));
  });

  it.each([
    ['takes nothing', () => Promise.reject(new PublishError('unavailable', 'refused'))],
    ['never answers', () => new Promise<void>(() => undefined)],
  ])('waits for no flush where the state topic %s, also not in the next term', async (_, flush) => {
    const { clock, lease, publisher, relay, log, commit } = relayOnVirtualTime({ ...takesAll, flush });
    await relay.start();
    relay.begin(0n);
    await clock.advance(10);
    // More orders than may be kept for the next flush.
    for (let i = 0; i < 12; i += 1) {
      commit(150);
      await clock.advance(500);
      lease.confirm(1n, clock.monotonicMs());
      expect(publisher.arrived.length).toBe(log.rows.length);
    }
    relay.end();
    relay.begin(log.batch);
    commit(1);
    await clock.advance(100);
    expect(publisher.arrived.length).toBe(log.rows.length);
    expect(log.position('state')).toBe(0n);
  });

  it('measures each row that came through memory, by stream and stage', async () => {
    const { clock, publisher, metrics, relay, commit } = relayOnVirtualTime();
    publisher.delayMs = 4;
    await relay.start();
    relay.begin(0n);
    await clock.advance(10);
    commit(3);
    await clock.advance(10);
    const { values } = await metrics.ingest.latency.get();
    const of = (name: string, stage: string) =>
      values.find(
        ({ metricName, labels }) =>
          metricName === `tidemark_latency_seconds_${name}` &&
          labels['stage'] === stage &&
          labels['stream'] === 'prediction',
      )?.value;
    expect(of('count', 'total')).toBe(3);
    expect(of('sum', 'commit_to_ack')).toBeCloseTo(0.012, 6);
  });
});
