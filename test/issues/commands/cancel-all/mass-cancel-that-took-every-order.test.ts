// What a user saw: To stop one strategy or one symbol, an operator had to cancel every order of the account.

import { expect, it } from 'vitest';
import type { OrderSelection } from '../../../../src/domain/select-orders.ts';
import type { CancelAll } from '../../../../src/service/commands/commands.ts';
import { CommandRig, placeEquity, unknown, word } from '../../../support/commands/command-rig.ts';
import { equityView, predictionView } from '../../../support/orders/arbitrary-orders.ts';

type Done = CancelAll;

async function cancelOnly(rig: CommandRig, only: OrderSelection, idempotencyKey = 'only'): Promise<Done> {
  const scope = { kind: 'account', accountId: 'acct-1', only } as const;
  const result = await rig.during(rig.commands.cancelAll(scope, { ...word, idempotencyKey }));
  if (result.kind === 'declined') throw new Error(result.code);
  return result;
}

const listed = ({ orders }: Done) => orders.map(({ orderId }) => orderId).sort();
const canceled = (rig: CommandRig) =>
  rig.entry.sent.flatMap(({ request }) => (request.kind === 'cancel' ? [request.orderId] : []));

/** Two placed here, by `robot` and by `desk`, and four from elsewhere. */
async function rigWithOrders() {
  const rig = await CommandRig.leading();
  const ofRobot = await rig.send(placeEquity, { principal: 'robot', callerRef: 'grid-7' });
  const ofDesk = await rig.send(placeEquity);
  rig.land(ofRobot.commandId, { orderId: 'robot-1', callerRef: 'grid-7' });
  rig.land(ofDesk.commandId, { orderId: 'desk-1' });
  const elsewhere = { origin: 'external' as const };
  rig.commit({
    ...equityView,
    ...elsewhere,
    orderId: 'short',
    side: 'sell_short',
    instrument: { kind: 'equity', symbol: 'MSFT' },
  });
  rig.commit({ ...equityView, ...elsewhere, orderId: 'cover', side: 'buy_to_cover', clOrdId: 'theirs-9' });
  rig.commit({ ...predictionView, ...elsewhere, orderId: 'cut', side: 'buy' });
  rig.commit({ ...predictionView, ...elsewhere, orderId: 'cut-sold', side: 'sell', clientOrderRef: 'grid-7' });
  return rig;
}

it('takes the orders of a symbol in whatever spelling the platform showed it', async () => {
  const rig = await rigWithOrders();
  const padded = { ...equityView, origin: 'external' as const, orderId: 'padded' };
  rig.commit({ ...padded, instrument: { kind: 'option', symbol: 'AAPL  261218C00200000' } });
  rig.commit({ ...padded, orderId: 'small', instrument: { kind: 'option', symbol: 'aapl261218C00200000' } });
  expect(listed(await cancelOnly(rig, { symbol: 'AAPL261218C00200000' }))).toEqual(['padded', 'small']);
});

it.each<[string, OrderSelection, string[]]>([
  ['of one symbol', { symbol: 'AAPL' }, ['cover', 'desk-1', 'robot-1']],
  ['that buy, on both streams', { side: 'buy' }, ['cover', 'cut', 'desk-1', 'robot-1']],
  ['that sell, on both streams', { side: 'sell' }, ['cut-sold', 'short']],
  ['of one principal', { principal: 'robot' }, ['robot-1']],
  ['with a reference of the caller or of the platform', { reference: 'grid-7' }, ['cut-sold', 'robot-1']],
  ['with a reference given elsewhere', { reference: 'theirs-9' }, ['cover']],
  ['that match all of several', { reference: 'grid-7', side: 'buy', symbol: 'AAPL' }, ['robot-1']],
])('cancels the orders %s, and no other', async (_what, only, expected) => {
  const rig = await rigWithOrders();
  const result = await cancelOnly(rig, only);
  expect([listed(result), canceled(rig).sort()]).toEqual([expected, expected]);
  expect(result).toMatchObject({ open: false, inForce: false });
  expect(rig.journal.cancelAlls.map(({ selection }) => selection)).toEqual([{ accountId: 'acct-1', ...only }]);
  expect(rig.journal.audits.find(({ action }) => action === 'cancel_all')?.detail).toMatchObject(only);
});

it('answers plainly where nothing matches', async () => {
  const rig = await rigWithOrders();
  const result = await cancelOnly(rig, { symbol: 'TSLA' });
  expect(result).toMatchObject({ open: false, inForce: false, orders: [], places: [], unread: [], declined: [] });
  expect(canceled(rig)).toEqual([]);
});

it('takes the same key with another selection for another request', async () => {
  const rig = await rigWithOrders();
  await cancelOnly(rig, { symbol: 'MSFT' }, 'k');
  await expect(cancelOnly(rig, { symbol: 'AAPL' }, 'k')).rejects.toThrow('IDEMPOTENCY_KEY_REUSED');
  expect(await cancelOnly(rig, { symbol: 'MSFT' }, 'k')).toMatchObject({
    replayed: true,
    orders: [{ orderId: 'short' }],
  });
  expect(canceled(rig)).toEqual(['short']);
});

it('cancels what lands later of the places that it selects, over a takeover, and leaves the others', async () => {
  const rig = await CommandRig.leading();
  rig.entry.scripts.push({ result: unknown }, { result: unknown });
  const robots = await rig.send(placeEquity, { principal: 'robot', callerRef: 'grid-7' });
  const desks = await rig.send({ ...placeEquity, terms: { ...placeEquity.terms, qty: '20' } });
  const byRef = await cancelOnly(rig, { reference: 'grid-7' }, 'by-ref');
  const byAttempt = await cancelOnly(rig, { reference: robots.attempts[0]?.attemptId ?? '' }, 'by-attempt');
  const bySide = await cancelOnly(rig, { side: 'sell' }, 'by-side');
  const places = [byRef, byAttempt, bySide].map((each) => each.places.map(({ commandId }) => commandId));
  expect(places).toEqual([[robots.commandId], [robots.commandId], []]);
  expect([byRef, bySide].map(({ open, inForce }) => [open, inForce])).toEqual([
    [true, true],
    [false, false],
  ]);
  rig.commands.endAll();
  const next = await CommandRig.leading({}, rig);
  next.land(desks.commandId, { quantity: '20', leavesQty: '20', working: { quantity: '20', price: '191.5' } });
  const landed = next.land(robots.commandId, { callerRef: 'grid-7' });
  await next.clock.advance(5_000);
  expect(new Set([...canceled(rig), ...canceled(next)])).toEqual(new Set([landed.orderId]));
});
