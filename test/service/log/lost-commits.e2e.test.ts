import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { systemRandom as random } from '../../../src/runtime/random.ts';
import { CheckpointWriter } from '../../../src/service/log/checkpoint-writer.ts';
import { Relay } from '../../../src/service/log/relay.ts';
import { relayDefaults } from '../../../src/service/log/relay-options.ts';
import { kafkaParts } from '../../../src/service/run/kafka-parts.ts';
import { PostgresUpdateLog } from '../../../src/store/orders/update-log.ts';
import { batch, storeRig } from '../../support/orders/store-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { freshTopics, kafkaOptions } from '../../support/servers/kafka-fixture.ts';
import { prefixOf } from '../../support/servers/topics.ts';

describe('issue: After the database lost commits, consumers got revision 2 of an order twice.', () => {
  const brokers = inject('kafkaBrokers');

  /**
   * A fleet on one database and one Kafka: real lanes, relays and
   * checkpoints, and batches that the test writes.
   */
  async function fleet() {
    const rig = await storeRig();
    onTestFinished(() => rig[Symbol.asyncDispose]());
    const topics = await freshTopics(brokers);
    const topicPrefix = prefixOf(topics);
    const log = testLog;
    const processOf = () => {
      const metrics = createMetrics();
      const lease = new Lease(clock, 3_600_000);
      const parts = kafkaParts(
        { clock, random, metrics, log },
        { kafka: kafkaOptions(brokers), topicPrefix, lane: () => lease.lane },
      );
      return { metrics, lease, parts };
    };
    /** A process that holds the lane, and publishes what is committed in it. */
    const holder = async (lane: number) => {
      const { metrics, lease, parts } = processOf();
      const hold = await rig.lanes.acquire(lane, `p${lane}`, 0);
      if (hold.kind !== 'held') throw new Error('the lane is busy');
      lease.enter(lane);
      lease.take(hold.epoch, clock.monotonicMs());
      lease.checkpoint.sawLane(hold);
      const checkpoint = new CheckpointWriter({
        clock,
        lease,
        publisher: parts.checkpointPublisher,
        mayWrite: () => true,
      });
      const shared = { lease, clock, random, logger: log, checkpoint, log: new PostgresUpdateLog(rig.deps) };
      const relay = new Relay(
        {
          ...{ ...shared, publisher: parts.publisher, statePublisher: parts.statePublisher },
          metrics: { ...metrics.relay, latency: metrics.ingest.latency },
        },
        relayDefaults,
      );
      await relay.start();
      relay.begin(hold.batch);
      let number = Number(hold.batch);
      return {
        lease,
        checkpoint,
        commit: async (orders: readonly [string, number][]) => {
          number += 1;
          const result = await rig.store.applyBatch({ ...batch(hold.epoch, number, orders), lane });
          expect(result).toMatchObject({ kind: 'committed' });
          relay.missedCommitted();
          const lastSeq = 'lastSeq' in result ? result.lastSeq : undefined;
          await eventually(async () => expect(relay.status()?.acknowledgedSeq).toBe(String(lastSeq)));
        },
        die: async () => {
          await relay.drain(AbortSignal.abort());
          await parts.close();
        },
      };
    };
    return {
      rig,
      holder,
      /** As a process does that has seen nothing: asks Kafka, and compares with the database. */
      look: async () => rig.lanes.noticeLoss(9, await processOf().parts.checkpoints.read()),
    };
  }

  /** So many that each partition ends with one of them. */
  const others = Array.from({ length: 300 }, (_, i): [string, number] => [`other-${i}`, 1]);

  const losses = {
    'its last batch': `delete from order_updates where lane = 3 and batch > 1;
    update lane_batches set batch = 1 where lane = 3; update orders set revision = 1, reduced_from = 0, seq = before_seq where order_id = 'o1'`,
    'the row of its lane with all that it wrote': `delete from order_updates where lane = 3; delete from lane_batches where lane = 3;
    delete from lanes where lane = 3; delete from orders where order_id = 'o1'`,
  } as const;

  // Kafka was asked for the last records of each partition only: others had written behind the lost
  // ones, and revision 2 was given again in generation 1.
  it.each(Object.entries(losses))(
    'a lane that lost %s is found behind the records of all others, once',
    async (_, loss) => {
      const { rig, holder, look } = await fleet();
      const lost = await holder(3);
      await lost.commit([['o1', 1]]);
      await lost.commit([['o1', 2]]);
      await lost.die();
      const well = await holder(4);
      await well.commit(others);
      expect(await look()).toBeUndefined();

      await rig.pool.query(loss);
      await well.commit(others.map(([id]) => [id, 2]));
      await well.die();
      expect(await look()).toEqual({ generation: 2 });
      expect(await rig.rows('select cause from halts where cleared_at is null')).toEqual([{ cause: 'commits_lost' }]);
      expect(await look()).toBeUndefined();
    },
  );

  it('a command that was marked as being sent, and its steps, are missed by the next process where the database lost them', async () => {
    const { rig, holder, look } = await fleet();
    const lost = await holder(3);
    const commandId = random.uuid();
    lost.lease.checkpoint.saw(['step', commandId, 2, 7]);
    await lost.checkpoint.cover();
    await lost.die();
    expect(await look()).toEqual({ generation: 2 });

    const sending = await holder(4);
    sending.lease.checkpoint.sawLane({ generation: 2, epoch: sending.lease.epoch, batch: 0n });
    sending.lease.checkpoint.saw(['sent', 'tm-lost']);
    await sending.checkpoint.cover();
    await sending.die();
    expect(await look()).toEqual({ generation: 3 });
    expect(await rig.rows('select count(*)::int as halts from halts where cleared_at is null')).toEqual([{ halts: 1 }]);
  });
});
