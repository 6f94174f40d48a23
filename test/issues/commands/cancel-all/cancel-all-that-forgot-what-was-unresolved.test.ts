// What a user saw: A cancel-all showed no orders; a place of unknown outcome landed later and stayed open.

import { describe, expect, it } from 'vitest';
import type { CancelAll } from '../../../../src/service/commands/commands.ts';
import {
  CommandRig,
  failedLook,
  placeEquity,
  unknown,
  word,
  workingOrder,
} from '../../../support/commands/command-rig.ts';

const account = { kind: 'account', accountId: 'acct-1' } as const;

type Done = CancelAll;

async function cancelAll(
  rig: CommandRig,
  over: { onLanding?: 'cancel' | 'leave'; idempotencyKey?: string } = {},
): Promise<Done> {
  const result = await rig.during(rig.commands.cancelAll(account, { ...word, idempotencyKey: 'all', ...over }));
  if (result.kind === 'declined') throw new Error(result.code);
  return result;
}

async function withUnresolvedPlace() {
  const rig = await CommandRig.leading();
  rig.entry.scripts.push({ result: unknown });
  const { commandId } = await rig.send(placeEquity);
  return { rig, commandId };
}

const canceled = (rig: CommandRig) =>
  rig.entry.sent.flatMap(({ request }) => (request.kind === 'cancel' ? [request.orderId] : []));

// A place was answered 504 and done six seconds later. The cancel-all in between said
// `{"orders":[],"declined":[]}`, and the order stayed.
describe('a cancel-all beside an unresolved place', () => {
  it('names it, and cancels its order as it lands', async () => {
    const { rig, commandId } = await withUnresolvedPlace();
    const first = await cancelAll(rig);
    expect(first).toMatchObject({ open: true, inForce: true, orders: [] });
    expect(first.places).toMatchObject([
      { accountId: 'acct-1', stream: 'account', commandId, command: { state: 'unknown' } },
    ]);
    expect(canceled(rig)).toEqual([]);
    await rig.clock.advance(6_000);
    const order = rig.land(commandId);
    await rig.clock.advance(1_000);
    expect(canceled(rig)).toEqual([order.orderId]);
    const again = await cancelAll(rig);
    expect(again).toMatchObject({ replayed: true, open: false, inForce: false });
    expect(again.places).toMatchObject([{ command: { state: 'applied' }, result: { command: { state: 'accepted' } } }]);
    expect(canceled(rig)).toHaveLength(1);
  });

  it('cancels it also when the answer to its own journaling was lost', async () => {
    const { rig, commandId } = await withUnresolvedPlace();
    let lost = 0;
    rig.journal.hook = async (operation, transact) => {
      const result = await transact();
      if (operation === 'openCancelAll' && lost++ === 0) throw new Error('the answer was lost');
      return result;
    };
    expect(await rig.during(rig.commands.cancelAll(account, { ...word, idempotencyKey: 'all' }))).toMatchObject({
      kind: 'declined',
      code: 'STORE_UNAVAILABLE',
    });
    await rig.clock.advance(6_000);
    const order = rig.land(commandId);
    await rig.clock.advance(1_000);
    expect(canceled(rig)).toEqual([order.orderId]);
  });

  it('stays in force over a takeover, and cancels once', async () => {
    const { rig, commandId } = await withUnresolvedPlace();
    await cancelAll(rig);
    rig.commands.endAll();
    const next = await CommandRig.leading({}, rig);
    const order = next.land(commandId);
    await next.clock.advance(1_000);
    const third = await CommandRig.leading({}, next);
    await third.clock.advance(1_000);
    expect([canceled(rig), canceled(next), canceled(third)]).toEqual([[], [order.orderId], []]);
    expect(await cancelAll(third)).toMatchObject({ open: false, inForce: false });
  });

  it('cancels also what landed while nobody held the lane, and while the journal was away', async () => {
    const { rig, commandId } = await withUnresolvedPlace();
    await cancelAll(rig);
    rig.commands.endAll();
    const order = rig.landed(commandId);
    rig.commit(order, { commandId, handed: false });
    let away = true;
    rig.journal.hook = async (operation, transact) => {
      if (away && (operation === 'cancelAllsInForce' || operation === 'open')) throw new Error('away');
      return transact();
    };
    const next = await CommandRig.leading({}, rig);
    await next.clock.advance(3_000);
    away = false;
    await next.clock.advance(20_000);
    expect(canceled(next)).toEqual([order.orderId]);
  });

  it('ends when the place came to nothing, and cancels nothing of what is placed later', async () => {
    const { rig, commandId } = await withUnresolvedPlace();
    await cancelAll(rig);
    await rig.during(rig.commands.operator.settle(commandId, 'not_sent', word));
    await rig.clock.advance(1_000);
    expect(await cancelAll(rig)).toMatchObject({ open: false, inForce: false });
    const { commandId: later } = await rig.send(placeEquity);
    rig.land(later);
    await rig.clock.advance(5_000);
    expect(canceled(rig)).toEqual([]);
  });

  it('leaves what lands where that was asked for, and says that it may be open', async () => {
    const { rig, commandId } = await withUnresolvedPlace();
    expect(await cancelAll(rig, { onLanding: 'leave' })).toMatchObject({ open: true });
    rig.land(commandId);
    await rig.clock.advance(5_000);
    expect(canceled(rig)).toEqual([]);
    expect(await cancelAll(rig, { onLanding: 'leave' })).toMatchObject({ open: true, inForce: false });
  });

  it('a place that lands while the list is made is cancelled once', async () => {
    const { rig, commandId } = await withUnresolvedPlace();
    rig.journal.hook = async (operation, transact) => {
      const result = await transact();
      if (operation === 'unseenPlaces') rig.land(commandId);
      return result;
    };
    const result = await cancelAll(rig);
    expect([result.places.length, result.orders.length]).toEqual([1, 1]);
    await rig.clock.advance(5_000);
    expect(canceled(rig)).toHaveLength(1);
  });
});

describe('a cancel-all', () => {
  it('reads the account first: an order that the stream lost is cancelled', async () => {
    const rig = await CommandRig.leading();
    rig.probes.answer = ({ kind, accountId }) => {
      if (kind === 'open') rig.commit({ ...workingOrder, accountId, orderId: 'lost' });
      return rig.probes.complete();
    };
    expect(await cancelAll(rig)).toMatchObject({
      open: false,
      orders: [{ orderId: 'lost', result: { kind: 'journaled' } }],
    });
    expect(canceled(rig)).toEqual(['lost']);
  });

  it('names an account that is not live, could not be read, or whose list is uncertain', async () => {
    for (const [code, spoil] of [
      ['NOT_LIVE', (rig: CommandRig) => Object.assign(rig.probes.now, { live: false })],
      ['UNCERTAIN', (rig: CommandRig) => Object.assign(rig.probes.now, { certain: false })],
      ['NOT_READ', (rig: CommandRig) => Object.assign(rig.probes, { answer: () => failedLook('down') })],
    ] as const) {
      const rig = await CommandRig.leading();
      rig.probes.now = { ...rig.probes.now };
      spoil(rig);
      rig.commit(workingOrder);
      const result = await cancelAll(rig);
      expect(result.unread.map(({ stream, code: why }) => [stream, why])).toEqual([
        ['account', code],
        ['prediction', code],
      ]);
      expect(result).toMatchObject({ open: true, inForce: false });
      expect(canceled(rig), code).toEqual(['order-1']);
    }
  });

  it('waits for a read that hangs two seconds at most, and cancels what is known', async () => {
    const rig = await CommandRig.leading();
    rig.probes.answer = () => new Promise<never>(() => {});
    rig.commit(workingOrder);
    const beganMs = rig.clock.monotonicMs();
    expect(await cancelAll(rig)).toMatchObject({ open: true, unread: [{ code: 'NOT_READ' }, { code: 'NOT_READ' }] });
    expect((rig.entry.sent[0]?.atMs ?? 0) - beganMs).toBeLessThan(2_100);
  });

  it('has nothing open where all was read and nothing is there', async () => {
    const rig = await CommandRig.leading();
    expect(await cancelAll(rig)).toMatchObject({ open: false, orders: [], places: [], unread: [], declined: [] });
  });
});
