// What a user saw: The stream was marked complete although one of its changes lay in quarantine.

import { expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { storeBehind } from '../../support/orders/reducing-sink.ts';
import { accountRow, predictionRow, type Row } from '../../support/platform/platform-rows.ts';

const refusal = { status: 503, message: 'down', retryable: true, sent: 'yes' } as const;
const unreadable: Row = { ...accountRow, qty: 'many' };
const other: Row = { ...predictionRow, symbol: 'OTHER' };

/** `rows`: of the account's stream, from the beginning on. */
async function live(rows: readonly Row[] = []) {
  const rig = connectorsRig();
  const store = storeBehind(rig);
  rig.platform.rows.set('account:acct-1', [...rows]);
  await rig.begin();
  await rig.until('account', 'live');
  await rig.until('prediction', 'live');
  const beat = (stream: 'account' | 'prediction') =>
    store.marks.findLast((mark) => mark.stream === stream && mark.event === 'heartbeat');
  return { ...rig, store, beat };
}

it('says "complete up to" no further than a change that contradicts what is held, until the order was read', async () => {
  const { platform, clock, store, beat } = await live();
  platform.emit('prediction', 'acct-1', predictionRow, 5n);
  platform.listError = () => refusal;
  platform.getError = () => refusal;
  await clock.advance(60_000);
  const changedMs = clock.nowMs();
  platform.emit('prediction', 'acct-1', other, 5n);
  await clock.advance(900_000);
  expect(store.conflicts).toHaveLength(1);
  expect(beat('prediction')?.atMs).toBeLessThan(changedMs);
  expect(beat('account')?.atMs).toBeGreaterThan(changedMs + 800_000);

  platform.rows.set('prediction:acct-1', [{ ...predictionRow, version: '6' }]);
  platform.getError = undefined;
  await clock.advance(330_000);
  expect(beat('prediction')?.atMs).toBeGreaterThan(changedMs + 900_000);
  expect(beat('prediction')).not.toHaveProperty('unreadOrderIds');
});

it('goes on after ten minutes, and names the order, where the platform shows it in no readable row', async () => {
  const { platform, clock, beat, account } = await live();
  platform.rows.set('account:acct-1', [unreadable]);
  const framedMs = clock.nowMs();
  platform.emit('account', 'acct-1', unreadable);
  await clock.advance(590_000);
  expect(beat('account')?.atMs).toBeLessThan(framedMs);
  await clock.advance(30_000);
  expect(beat('account')).toMatchObject({ accountIds: ['acct-1'], unreadOrderIds: ['ord-1'] });
  expect(beat('account')?.atMs).toBeGreaterThan(framedMs + 580_000);
  expect(account('account', 'acct-1')?.unrecovered).toBe(1);

  platform.rows.set('account:acct-1', [accountRow]);
  await clock.advance(330_000);
  expect(beat('account')).not.toHaveProperty('unreadOrderIds');
});

it('names an order that a list has shown in no readable row, and does not wait for it', async () => {
  const { platform, clock, beat, state } = await live([unreadable]);
  await clock.advance(30_000);
  expect(beat('account')).toMatchObject({ unreadOrderIds: ['ord-1'] });
  expect(beat('account')?.atMs).toBeGreaterThan(clock.nowMs() - 30_000);
  // No longer among the newest changes: it is in no list of them, and unread all the same.
  platform.shows = () => false;
  await clock.advance(300_000);
  expect([state('account'), beat('account')?.unreadOrderIds]).toEqual(['live', ['ord-1']]);
});

it('promises nothing for rows that are not committed yet: one of them may go to quarantine', async () => {
  const { platform, clock, sink, store, beat } = await live();
  platform.listError = () => refusal;
  platform.getError = () => refusal;
  const waiting: (() => void)[] = [];
  const { offer } = sink;
  sink.settle = () => new Promise((resolve) => waiting.push(resolve));
  sink.offer = (item) => (item.kind === 'order' ? void waiting.push(() => offer(item)) : offer(item));
  platform.emit('prediction', 'acct-1', predictionRow, 5n);
  const changedMs = clock.nowMs();
  platform.emit('prediction', 'acct-1', other, 5n);
  await clock.advance(30_000);
  sink.settle = async () => undefined;
  for (const settle of waiting) settle();
  await clock.advance(60_000);
  expect(store.conflicts).toHaveLength(1);
  expect(beat('prediction')?.atMs).toBeLessThan(changedMs);
});
