// What a user saw: The backlog gauge showed nothing pending while Kafka was away.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { Relay } from '../../../src/service/log/relay.ts';
import { relayDefaults } from '../../../src/service/log/relay-options.ts';
import { StateWriter, stateWriterDefaults } from '../../../src/service/log/state-writer.ts';
import { Host } from '../../simulation/host.ts';
import { MemoryBroker } from '../../simulation/world/memory-broker.ts';
import { LaneLog } from '../../support/orders/lane-log.ts';
import { LossyPublisher } from '../../support/orders/lossy-publisher.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

function parts() {
  const clock = new VirtualClock();
  const log = new LaneLog(clock);
  const lease = new Lease(clock, 3_600_000);
  lease.confirm(1n, 0);
  const metrics = createMetrics();
  const gauges = async (topic: string) => {
    const of = async (gauge: typeof metrics.relay.pending) =>
      (await gauge.get()).values.find(({ labels }) => labels.topic === topic)?.value ?? 0;
    return { rows: await of(metrics.relay.pending), oldest: await of(metrics.relay.oldestPending) };
  };
  return { clock, log, lease, random: seededRandom(1), logger: silentLog, metrics, gauges };
}

// Found by reading: the backlog of the state topic was shown only behind a flush that had
// succeeded, so nothing was pending for as long as Kafka was away. And who lost the lane went on
// showing, for ever, what had been pending at that moment.
it('shows the backlog of the state topic while Kafka is away, and none once the lane is lost', async () => {
  const { clock, log, metrics, gauges, ...deps } = parts();
  const broker = new MemoryBroker(clock, seededRandom(2));
  broker.down = true;
  const publisher = broker.statePublisher(new Host('holder', clock));
  const writer = new StateWriter(
    { ...deps, clock, log, publisher, metrics: metrics.relay },
    { ...stateWriterDefaults },
  );
  await writer.start();
  writer.begin(0n);
  writer.writeCommitted(log.commit([{ topic: 'updates', key: 'prediction:a' }]));
  await clock.advance(30_000);
  expect(await gauges('state')).toEqual({ rows: 1, oldest: expect.any(Number) });
  expect((await gauges('state')).oldest).toBeGreaterThan(0);
  writer.end();
  await clock.advance(10_000);
  expect(await gauges('state')).toEqual({ rows: 0, oldest: 0 });
});

it('shows no backlog of the log topics once the lane is lost', async () => {
  const { clock, log, metrics, gauges, ...deps } = parts();
  const publisher = new LossyPublisher(clock, seededRandom(2));
  publisher.fate = () => 'refused';
  const relay = new Relay(
    { ...deps, clock, log, publisher, metrics: { ...metrics.relay, latency: metrics.ingest.latency } },
    relayDefaults,
  );
  await relay.start();
  relay.begin(0n);
  relay.publishCommitted(log.commit([{ topic: 'updates', key: 'prediction:a' }]));
  await clock.advance(30_000);
  expect((await gauges('updates')).rows).toBe(1);
  relay.end();
  await clock.advance(10_000);
  expect(await gauges('updates')).toEqual({ rows: 0, oldest: 0 });
});
