// What a user saw: A good order event was put into quarantine after one refusal by the database.

import { expect, it } from 'vitest';
import type { Batch } from '../../../src/store/orders/order-store.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';

// Found by review: a batch of one that Postgres refused was put in quarantine at once. Where the
// log had the revision already, because the head in the cache was behind it, reading the head again
// was all that it needed, which a larger batch got by being halved.
it('reduces an observation that was refused alone once more, against the head as it is stored', async () => {
  const rig = await ingestRig(6);
  rig.ingest.begin(rig.hold);
  rig.offer(observe(orderAt(1, 0)));
  await rig.clock.advance(1000);
  const { database } = rig;
  const [first] = database.log;
  const head = database.heads.get('account:ord-1');
  if (first === undefined || head === undefined) throw new Error('the first was not stored');
  const apply = database.applyBatch.bind(database);
  let refused = 0;
  database.applyBatch = async (batch: Batch) => {
    const revisions = batch.updates.map(({ revision }) => revision);
    const stored = database.heads.get('account:ord-1')?.revision ?? 0;
    if (revisions.every((revision) => revision > stored)) return apply(batch);
    refused += 1;
    return { kind: 'poison', code: '23505', message: 'duplicate key' };
  };
  database.heads.set('account:ord-1', { ...head, revision: 2 });
  rig.offer(observe(orderAt(1, 1)));
  await rig.clock.advance(1000);
  expect(refused).toBe(1);
  expect(rig.outcomes).toEqual(['applied', 'applied']);
  expect(database.heads.get('account:ord-1')?.revision).toBe(3);
});

it('puts it in quarantine when it is refused again, so that the lane goes on', async () => {
  const rig = await ingestRig(7);
  rig.ingest.begin(rig.hold);
  rig.offer(observe(orderAt(1, 0, { rejectText: 'POISON' })));
  await rig.clock.advance(1000);
  rig.offer(observe(orderAt(2, 0)));
  await rig.clock.advance(1000);
  expect(rig.outcomes).toEqual(['quarantined', 'applied']);
});
