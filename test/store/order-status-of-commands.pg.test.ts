import { expect, it } from 'vitest';
import { atMs, fence, newCancel, newPlace, sending, unknown } from '../support/commands/journal-fixtures.ts';
import { journalRig } from '../support/commands/journal-rig.ts';
import { batch } from '../support/orders/store-rig.ts';
import { storedOrder } from '../support/orders/stored-orders.ts';

it('a command shows the status of its order, as of its step and as of now', async () => {
  await using rig = await journalRig();
  const store = (number: number, status: string) => {
    const { head, update } = storedOrder({ orderId: 'o-1', stream: 'account', status, revision: number });
    return rig.store.applyBatch(batch(rig.epoch, number, [], { heads: [head], updates: [update] }));
  };
  await store(1, 'pending_new');
  const command = await unknown(rig.journal, newPlace(), { to: 'accepted', orderId: 'o-1' });
  expect(command.orderStatus).toBe('pending_new');
  await store(2, 'rejected');
  const { commandId, version } = command;
  expect((await rig.journal.find(commandId))?.orderStatus).toBe('rejected');
  await rig.journal.step({ commandId, version, to: 'rejected', atMs, evidence: [] }, fence);
  const { rows } = await rig.pool.query(
    `select order_status as status from public.command_events where command_id = $1 order by version`,
    [commandId],
  );
  expect(rows.map(({ status }) => status)).toEqual([null, 'pending_new', 'rejected']);
});

it('a cancel that names an order of another account shows no status', async () => {
  await using rig = await journalRig();
  const { head, update } = storedOrder({ orderId: 'p-1', accountId: 'acct-2', status: 'filled' });
  await rig.store.applyBatch(batch(rig.epoch, 1, [], { heads: [head], updates: [update] }));
  const { commandId } = await sending(rig.journal, newCancel('p-1'));
  expect(await rig.journal.find(commandId)).toMatchObject({ orderId: 'p-1' });
  expect(await rig.journal.find(commandId)).not.toHaveProperty('orderStatus');
});
