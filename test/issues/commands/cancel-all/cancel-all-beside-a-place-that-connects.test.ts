// What a user saw: A cancel-all said that nothing was open; a place from before it was then sent, and stayed.

import { describe, expect, it } from 'vitest';
import { accepted, CommandRig, placeEquity, word, workingOrder } from '../../../support/commands/command-rig.ts';

const account = { kind: 'account', accountId: 'acct-1' } as const;
const asked = { ...word, idempotencyKey: 'all' };

async function cancelAll(rig: CommandRig) {
  const result = await rig.during(rig.commands.cancelAll(account, asked));
  if (result.kind === 'declined') throw new Error(result.code);
  return result;
}

const canceled = (rig: CommandRig) =>
  rig.entry.sent.flatMap(({ request }) => (request.kind === 'cancel' ? [request.orderId] : []));

/** A place whose connection takes so long. */
function connecting(rig: CommandRig, ms: number, accountId = 'acct-1') {
  rig.entry.route = ({ kind }) => (kind === 'place' ? { connect: { ms }, result: accepted } : undefined);
  return rig.commands.submit(rig.submission({ ...placeEquity, accountId }));
}

// The socket to the platform is connected before the command is in the journal. A cancel-all in
// between found the journal empty.
describe('a cancel-all beside a place whose socket is being connected', () => {
  it.each([150, 1_000])('names the place, and cancels its order as it lands (%d ms)', async (ms) => {
    const rig = await CommandRig.leading();
    const placing = connecting(rig, ms);
    await rig.clock.advance(10);
    const first = await cancelAll(rig);
    expect(first).toMatchObject({ open: true, inForce: true, orders: [], unread: [] });
    await rig.during(placing);
    const [{ commandId = '' } = {}] = first.places;
    expect([...rig.journal.commands.keys()]).toEqual([commandId]);
    const order = rig.land(commandId);
    await rig.clock.advance(1_000);
    expect(canceled(rig)).toEqual([order.orderId]);
    expect(await cancelAll(rig)).toMatchObject({ replayed: true, open: false, inForce: false });
  });

  it('does so too where the switch of a dead man fires', async () => {
    const rig = await CommandRig.leading();
    const arm = { principal: 'desk', accountIds: ['acct-1'], requestId: 'request-1', afterMs: 30_000 };
    await rig.during(rig.commands.cancelAfter(arm));
    await rig.clock.advance(29_900);
    const placing = connecting(rig, 190);
    await rig.clock.advance(1_000);
    const placed = await rig.during(placing);
    const { commandId } = placed.kind === 'journaled' ? placed.command : { commandId: placed.code };
    const order = rig.land(commandId);
    await rig.clock.advance(1_000);
    expect(canceled(rig)).toEqual([order.orderId]);
  });

  it('has nothing open where the place came to nothing', async () => {
    const rig = await CommandRig.leading();
    rig.journal.hook = async (operation, transact) => {
      if (operation === 'open') throw new Error('no database');
      return transact();
    };
    const placing = connecting(rig, 150);
    await rig.clock.advance(10);
    expect(await cancelAll(rig)).toMatchObject({ open: false, places: [], unread: [] });
    expect(await rig.during(placing)).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(rig.entry.sent).toEqual([]);
  });

  it('waits two seconds at most, cancels what is known, and names the account as not read', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.journal.hook = async (operation, transact) =>
      operation === 'open' && rig.journal.cancelAlls.length === 0 ? new Promise<never>(() => {}) : transact();
    void connecting(rig, 50);
    await rig.clock.advance(10);
    const beganMs = rig.clock.monotonicMs();
    const result = await cancelAll(rig);
    expect(rig.clock.monotonicMs() - beganMs).toBeLessThan(2_200);
    const unread = { accountId: 'acct-1', stream: 'account', code: 'NOT_READ' };
    expect(result).toMatchObject({ open: true, unread: [unread], orders: [{ orderId: 'order-1' }] });
    expect(canceled(rig)).toEqual(['order-1']);
  });

  it('does not wait for places that come after it, or are of other accounts', async () => {
    const rig = await CommandRig.leading();
    const others = connecting(rig, 190, 'acct-2');
    const beganMs = rig.clock.monotonicMs();
    const all = rig.commands.cancelAll(account, asked);
    await rig.clock.advance(1);
    const later = connecting(rig, 190);
    expect(await rig.during(all)).toMatchObject({ open: false, places: [] });
    expect(rig.clock.monotonicMs() - beganMs).toBeLessThan(50);
    await rig.during(Promise.all([others, later]));
  });
});
