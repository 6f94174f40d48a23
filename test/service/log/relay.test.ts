import { describe, expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { Relay } from '../../../src/service/log/relay.ts';
import { relayDefaults } from '../../../src/service/log/relay-options.ts';
import { LaneLog } from '../../support/orders/lane-log.ts';
import { LossyPublisher } from '../../support/orders/lossy-publisher.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

function relayOnVirtualTime() {
  const clock = new VirtualClock();
  const log = new LaneLog(clock);
  const lease = new Lease(clock, 3000);
  const publisher = new LossyPublisher(clock, seededRandom(1));
  onTestFinished(() => expect(publisher.violations).toEqual([]));
  const metrics = createMetrics();
  lease.confirm(1n, 0);
  const relay = new Relay(
    {
      log,
      publisher,
      lease,
      clock,
      random: seededRandom(2),
      logger: silentLog,
      metrics: { ...metrics.relay, latency: metrics.ingest.latency },
    },
    relayDefaults,
  );
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
    expect([publisher.arrived.length, log.reads]).toEqual([5, 1]);
  });

  it('saves its position about every 250 ms, not with each send, and the last one when it drains', async () => {
    const { clock, log, lease, relay, commit } = relayOnVirtualTime();
    let saves = 0;
    const save = log.savePosition.bind(log);
    log.savePosition = (...args) => {
      saves += 1;
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
    expect(log.position('log')).toBe(last.lastSeq);
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
