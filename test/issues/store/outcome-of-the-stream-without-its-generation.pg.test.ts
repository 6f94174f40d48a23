// What a user saw: A reader of the event stream could not tell two outcomes of one version apart.

import { expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { PostgresOutcomeLog } from '../../../src/store/commands/outcome-log.ts';
import { fence, newPlace } from '../../support/commands/journal-fixtures.ts';
import { readRig } from '../../support/orders/read-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

/**
 * After lost commits a version of a command may be given again. Kafka's record named the generation
 * that tells the two apart, and the same step in the stream of events did not.
 */
it.each([1, 3])('an outcome in the stream of events is the record of Kafka, in generation %i', async (generation) => {
  await using rig = await readRig();
  await rig.rows('update lanes set generation = $1', [generation]);
  await rig.journal.open(newPlace(), fence);
  const outcomes = new PostgresOutcomeLog({ pool: rig.pool, clock: systemClock, random: systemRandom });
  const [record] = await outcomes.readUnpublished(10, [fence.shard]);
  // Other tests share the server: a transaction of theirs that has
  // just ended may still count for a moment.
  const event = await eventually(async () => {
    const { horizon } = await rig.reads.eventHorizon();
    const { events } = await rig.reads.eventsAfter({ tx: 0n, number: 0n }, horizon, 10);
    expect(events).toHaveLength(1);
    return events[0];
  });
  expect(event?.payload).toBe(record?.payload);
  expect(JSON.parse(event?.payload ?? '').generation).toBe(generation === 1 ? undefined : generation);
});
