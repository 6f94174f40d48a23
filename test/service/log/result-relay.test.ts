import { describe, expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { CheckpointWriter } from '../../../src/service/log/checkpoint-writer.ts';
import { ResultRelay, resultRelayDefaults } from '../../../src/service/log/result-relay.ts';
import { LossyPublisher } from '../../support/orders/lossy-publisher.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';
import { ScriptedResultLog } from './scripted-result-log.ts';

async function relayOnVirtualTime(leaseMs = 1_000_000) {
  const clock = new VirtualClock();
  const log = new ScriptedResultLog(clock);
  const lease = new Lease(clock, leaseMs);
  lease.confirm(1n, 0);
  const publisher = new LossyPublisher(clock, seededRandom(1));
  const { relay: metrics } = createMetrics();
  let alone = 0;
  const aside = {
    publish: async () => {
      alone += 1;
    },
    close: async () => undefined,
  };
  const checkpoint = new CheckpointWriter({ clock, lease, publisher: aside, mayWrite: () => true });
  const relay = new ResultRelay(
    {
      checkpoint,
      log,
      shards: () => [0],
      publisher,
      lease,
      clock,
      random: seededRandom(2),
      logger: silentLog,
      metrics,
    },
    { ...resultRelayDefaults, maxRows: 10 },
  );
  await relay.start();
  onTestFinished(async () => {
    const drained = relay.drain(AbortSignal.abort());
    await clock.advance(5_000);
    await drained;
    expect(clock.armed).toBe(0);
    expect(publisher.violations).toEqual([]);
  });
  const arrived = () => publisher.arrived.map(({ payload }) => payload);
  return { clock, log, lease, publisher, metrics, relay, arrived, alone: () => alone };
}

describe('the relay of results', () => {
  it('publishes a step as soon as it is woken, under the key of its command, and marks it', async () => {
    const { clock, log, publisher, relay } = await relayOnVirtualTime();
    relay.begin();
    await clock.advance(5);
    const { id } = log.step('c-1');
    relay.wake();
    await clock.advance(5);
    expect(publisher.arrived).toEqual([{ topic: 'results', key: 'c-1', payload: 'c-1:1' }]);
    await clock.advance(resultRelayDefaults.pollEveryMs);
    expect([...log.published]).toEqual([id]);
    expect(publisher.sends).toBe(1);
  });

  it('marks what Kafka has once a second, and meanwhile reads behind it', async () => {
    const { clock, log, relay, arrived } = await relayOnVirtualTime();
    relay.begin();
    await clock.advance(5);
    for (let step = 0; step < 60; step += 1) {
      log.step(`c-${step}`);
      relay.wake();
      await clock.advance(50);
    }
    await clock.advance(resultRelayDefaults.gatherMs);
    expect(log.marks).toBeLessThanOrEqual(4);
    expect(log.published.size).toBeGreaterThan(20);
    expect(arrived()).toEqual(log.rows.map(({ payload }) => payload));
  });

  it('marks all of it when it drains', async () => {
    const { clock, log, relay, arrived } = await relayOnVirtualTime();
    relay.begin();
    await clock.advance(5);
    for (let step = 0; step < 3; step += 1) {
      log.step('c-1');
      relay.wake();
      await clock.advance(150);
    }
    expect(log.published.size).toBeLessThan(3);
    const drained = relay.drain(new AbortController().signal);
    await clock.advance(100);
    await drained;
    expect(log.published.size).toBe(3);
    expect(arrived()).toHaveLength(3);
  });

  it('gathers the steps that come while many do: one read and one publish for all of them', async () => {
    const { clock, log, relay, arrived } = await relayOnVirtualTime();
    relay.begin();
    await clock.advance(5);
    for (let step = 0; step < 40; step += 1) {
      log.step(`c-${step}`);
      relay.wake();
      await clock.advance(1);
    }
    await clock.advance(resultRelayDefaults.gatherMs);
    expect(arrived()).toHaveLength(40);
    expect(log.reads).toBeLessThan(10);
  });

  it('finds by itself what it was not woken for, within its poll', async () => {
    const { clock, log, relay, arrived } = await relayOnVirtualTime();
    relay.begin();
    await clock.advance(5);
    log.step('c-1');
    await clock.advance(resultRelayDefaults.pollEveryMs + 10);
    expect(arrived()).toEqual(['c-1:1']);
  });

  it('asks the outbox once a poll while there is nothing', async () => {
    const { clock, log, relay } = await relayOnVirtualTime();
    relay.begin();
    await clock.advance(10_000);
    expect(log.reads).toBeLessThanOrEqual(11);
  });

  it('empties a full outbox without waiting between two reads, in order', async () => {
    const { clock, log, publisher, relay, arrived } = await relayOnVirtualTime();
    for (let i = 0; i < 35; i += 1) log.step(`c-${i % 3}`);
    relay.begin();
    await clock.advance(50);
    expect(arrived()).toEqual(log.rows.map(({ payload }) => payload));
    expect(publisher.largestSend).toBe(10);
  });

  it('sends nothing before the lane is held, and nothing after it was lost', async () => {
    const { clock, log, publisher, relay } = await relayOnVirtualTime();
    log.step('c-1');
    await clock.advance(5_000);
    expect(publisher.sends).toBe(0);
    relay.begin();
    await clock.advance(20);
    relay.end();
    log.step('c-1');
    relay.wake();
    await clock.advance(5_000);
    expect(publisher.sends).toBe(1);
  });

  it('sends nothing while its last renewal is too old, and goes on with the next', async () => {
    const { clock, log, lease, publisher, relay, arrived } = await relayOnVirtualTime(3000);
    relay.begin();
    await clock.advance(3_500);
    log.step('c-1');
    await clock.advance(5_000);
    expect(publisher.sends).toBe(0);
    lease.confirm(1n, clock.monotonicMs());
    await clock.advance(100);
    expect(arrived()).toEqual(['c-1:1']);
  });

  it('marks nothing that Kafka has not acknowledged, and sends it again', async () => {
    const { clock, log, publisher, metrics, relay, arrived } = await relayOnVirtualTime();
    let failures = 2;
    publisher.fate = () => {
      failures -= 1;
      return failures >= 0 ? 'answer_lost' : 'ok';
    };
    publisher.onSend = () => expect(log.published.size).toBe(0);
    log.step('c-1');
    log.step('c-1');
    relay.begin();
    await clock.advance(3_000);
    expect(arrived()).toEqual(['c-1:1', 'c-1:2', 'c-1:1', 'c-1:2', 'c-1:1', 'c-1:2']);
    expect(log.published.size).toBe(2);
    const { values } = await metrics.records.get();
    expect(values.map(({ labels, value }) => [labels.topic, labels.result, value])).toEqual([
      ['results', 'failed', 4],
      ['results', 'acknowledged', 2],
    ]);
  });

  it('does not fill the topic with repeats while what was acknowledged cannot be marked', async () => {
    const { clock, log, publisher, relay } = await relayOnVirtualTime();
    log.markingDown = true;
    log.step('c-1');
    relay.begin();
    await clock.advance(60_000);
    expect(publisher.sends).toBe(1);
    log.markingDown = false;
    log.step('c-1');
    await clock.advance(3_000);
    expect([publisher.sends, log.published.size]).toEqual([2, 2]);
  });

  it('goes on by itself when the database is back', async () => {
    const { clock, log, relay, arrived } = await relayOnVirtualTime();
    log.down = true;
    log.step('c-1');
    relay.begin();
    await clock.advance(30_000);
    log.down = false;
    await clock.advance(3_000);
    expect(arrived()).toEqual(['c-1:1']);
  });

  it('leaves what was acknowledged as the lane was lost to the next holder, who sends it again', async () => {
    const { clock, log, publisher, relay, arrived } = await relayOnVirtualTime();
    publisher.delayMs = 100;
    log.step('c-1');
    relay.begin();
    await clock.advance(20);
    relay.end();
    await clock.advance(200);
    expect([publisher.sends, log.published.size]).toEqual([1, 0]);
    relay.begin();
    await clock.advance(200);
    expect(arrived()).toEqual(['c-1:1', 'c-1:1']);
    expect(log.published.size).toBe(1);
  });

  it('publishes what is there before it ends, and gives up at the first failure or the signal', async () => {
    for (const fate of ['ok', 'refused'] as const) {
      const { clock, log, publisher, relay, arrived } = await relayOnVirtualTime();
      publisher.fate = () => fate;
      relay.begin();
      await clock.advance(5);
      for (let i = 0; i < 25; i += 1) log.step(`c-${i}`);
      let over = false;
      void relay.drain(new AbortController().signal).then(() => {
        over = true;
      });
      await clock.advance(100);
      expect(over).toBe(true);
      expect(arrived()).toHaveLength(fate === 'ok' ? 25 : 0);
    }
  });

  it('shows how much is waiting, and since when', async () => {
    const { clock, log, publisher, metrics, relay } = await relayOnVirtualTime();
    publisher.fate = () => 'refused';
    const { recordedMs } = log.step('c-1');
    log.step('c-2');
    relay.begin();
    await clock.advance(500);
    const shown = async (gauge: typeof metrics.pending | typeof metrics.oldestPending) =>
      (await gauge.get()).values[0]?.value;
    expect([await shown(metrics.pending), await shown(metrics.oldestPending)]).toEqual([2, recordedMs / 1000]);
    publisher.fate = () => 'ok';
    await clock.advance(5_000);
    expect([await shown(metrics.pending), await shown(metrics.oldestPending)]).toEqual([0, 0]);
  });
});

describe('issue: Commands were published only after a second answer of Kafka, about their checkpoint.', () => {
  it('it goes along with them, and by itself before the first send and after one that failed', async () => {
    const { clock, log, lease, publisher, relay, alone } = await relayOnVirtualTime();
    lease.checkpoint.sawLane({ generation: 1, epoch: 1n, batch: 0n });
    const step = async (version: number) => {
      lease.checkpoint.saw(['step', 'c-1', version, 0]);
      log.step('c-1');
      relay.wake();
      await clock.advance(1_000);
    };
    relay.begin();
    await step(1);
    expect(alone()).toBe(1);
    await step(2);
    expect([alone(), publisher.arrived.map(({ topic }) => topic).sort()]).toEqual([
      ...[1, ['checkpoint', 'results', 'results']],
    ]);
    publisher.fate = () => (publisher.sends === 3 ? 'refused' : 'ok');
    await step(3);
    expect([alone(), publisher.sends]).toEqual([2, 4]);
  });
});
