// What a user saw: The backlog gauge showed nothing pending while Kafka was away.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { Host } from '../../simulation/host.ts';
import { MemoryBroker } from '../../simulation/world/memory-broker.ts';
import { LaneLog } from '../../support/orders/lane-log.ts';
import { LossyPublisher } from '../../support/orders/lossy-publisher.ts';
import { openRelay } from '../../support/orders/open-relay.ts';
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
  return { clock, log, lease, metrics, gauges };
}

// Found by reading: the backlog of the state topic was shown only behind a flush that had
// succeeded, so nothing was pending for as long as Kafka was away. And who lost the lane went on
// showing, for ever, what had been pending at that moment.
it('shows the backlog of the state topic while Kafka is away, and none once the lane is lost', async () => {
  const { gauges, ...deps } = parts();
  const { clock, log } = deps;
  const broker = new MemoryBroker(clock, seededRandom(2));
  broker.down = true;
  const relay = openRelay({ ...deps, statePublisher: broker.statePublisher(new Host('holder', clock)) });
  await relay.start();
  relay.begin(0n);
  relay.publishCommitted(log.commit([{ topic: 'updates', key: 'prediction:a' }]));
  await clock.advance(30_000);
  expect(await gauges('state')).toEqual({ rows: 1, oldest: expect.any(Number) });
  expect((await gauges('state')).oldest).toBeGreaterThan(0);
  relay.end();
  await clock.advance(10_000);
  expect(await gauges('state')).toEqual({ rows: 0, oldest: 0 });
});

it('shows the backlog of both topics while the topic of updates takes nothing, and none once the lane is lost', async () => {
  const { gauges, ...deps } = parts();
  const { clock, log } = deps;
  const publisher = new LossyPublisher(clock, seededRandom(2));
  publisher.fate = () => 'refused';
  const relay = openRelay({ ...deps, publisher });
  await relay.start();
  relay.begin(0n);
  await clock.advance(1_000);
  relay.publishCommitted(log.commit([{ topic: 'updates', key: 'prediction:a' }]));
  await clock.advance(30_000);
  for (const topic of ['updates', 'state']) expect(await gauges(topic)).toMatchObject({ rows: 1 });
  relay.end();
  await clock.advance(10_000);
  for (const topic of ['updates', 'state']) expect(await gauges(topic)).toEqual({ rows: 0, oldest: 0 });
});
