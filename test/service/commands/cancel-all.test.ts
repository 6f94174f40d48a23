import { describe, expect, it } from 'vitest';
import type { OrderSelection } from '../../../src/domain/select-orders.ts';
import type { CancelAll, CancelAllScope } from '../../../src/service/commands/commands.ts';
import { RequestBudget } from '../../../src/venue/request-budget.ts';
import {
  accepted,
  atCapacity,
  CommandRig,
  failedLook,
  placeEquity,
  unknown,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';
import { equityView, predictionView } from '../../support/orders/arbitrary-orders.ts';

describe('issue: A cancel-all said that nothing was open; a place from before it was then sent, and stayed.', () => {
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
});

describe('issue: A repeated cancel-all cancelled orders that were placed after the first one.', () => {
  const account = { kind: 'account', accountId: 'acct-1' } as const;

  async function canceling(...orderIds: string[]) {
    const rig = await CommandRig.leading();
    for (const orderId of orderIds) rig.commit({ ...workingOrder, orderId });
    const all = async (beside = rig, scope: CancelAllScope = account, reason = word.reason) => {
      const result = await beside.during(beside.commands.cancelAll(scope, { ...word, reason, idempotencyKey: 'all' }));
      if (result.kind === 'declined') return result.code;
      const told = result.orders.map(({ orderId, result: each }) => [
        orderId,
        each?.kind === 'declined' ? each.code : each?.command.state,
      ]);
      return { replayed: result.replayed, told, declined: result.declined };
    };
    return { rig, all };
  }

  // Found in review: a cancel-all listed what was open each time it was heard. Repeated once its
  // orders were over it told of none, and repeated late it cancelled orders that had been placed
  // since, which nobody had meant; another reason or account was never told from it.
  describe('the same cancel-all again', () => {
    it('is about the orders that were open when it was first heard, and about no other', async () => {
      const { rig, all } = await canceling('a', 'b');
      expect(await all()).toMatchObject({ replayed: false });
      for (const orderId of ['a', 'b']) rig.commit({ ...workingOrder, orderId, status: 'canceled' });
      rig.commit({ ...workingOrder, orderId: 'later' });
      const told = { replayed: true, told: ['a', 'b'].map((id) => [id, 'applied']) };
      expect(await all()).toMatchObject(told);
      expect(await all(await CommandRig.leading({ enabled: false }, rig))).toMatchObject(told);
      expect(await all(new CommandRig({}, rig))).toMatchObject(told);
      expect(rig.entry.sent).toHaveLength(2);
    });

    it('with another reason or scope is refused like any other key', async () => {
      const { rig, all } = await canceling('a');
      await all();
      expect(await all(rig, account, 'another')).toBe('IDEMPOTENCY_KEY_REUSED');
      expect(await all(rig, { kind: 'account', accountId: 'acct-2' })).toBe('IDEMPOTENCY_KEY_REUSED');
      expect(await all(rig, { kind: 'service', accountIds: ['acct-1'] })).toBe('IDEMPOTENCY_KEY_REUSED');
    });

    it('finds sent what a process that died in the middle had written down: its successor sends it unasked', async () => {
      const { rig, all } = await canceling('a', 'b', 'c');
      let opened = 0;
      rig.journal.hook = async (operation, transact) => {
        if (operation === 'open') opened += 1;
        if (operation === 'open' && opened > 1) throw new Error('gone');
        return transact();
      };
      expect(await all()).toMatchObject({
        told: [
          ['a', 'accepted'],
          ['b', 'STORE_UNAVAILABLE'],
          ['c', 'STORE_UNAVAILABLE'],
        ],
      });
      rig.commands.endAll();
      rig.journal.hook = async (_operation, transact) => transact();
      rig.commit({ ...workingOrder, orderId: 'c', status: 'filled' });
      rig.commit({ ...workingOrder, orderId: 'later' });
      const next = await CommandRig.leading({}, rig);
      await rig.clock.advance(1_000);
      expect(await all(next)).toMatchObject({
        replayed: true,
        told: [
          ['a', 'accepted'],
          ['b', 'accepted'],
          ['c', 'accepted'],
        ],
      });
      expect(next.entry.sent.map(({ request }) => 'orderId' in request && request.orderId)).toEqual(['b', 'c']);
    });

    it('sends nothing where its list could not be written down', async () => {
      const { rig, all } = await canceling('a');
      rig.journal.hook = async (operation, transact) => {
        const answer = await transact();
        if (operation === 'openCancelAll') throw new Error('the answer was lost');
        return answer;
      };
      expect(await all()).toBe('STORE_UNAVAILABLE');
      expect(rig.entry.sent).toEqual([]);
      rig.commit({ ...workingOrder, orderId: 'later' });
      expect(await all()).toMatchObject({ replayed: true, told: [['a', 'accepted']] });
    });
  });

  it('a cancel-all of the service cancels the orders of each account that may be traded, and says which may not', async () => {
    const { rig, all } = await canceling('a');
    rig.commit({ ...workingOrder, orderId: 'b', accountId: 'acct-2' });
    const beside = await CommandRig.leading({ accounts: ['acct-2'] }, rig);
    expect(await all(beside, { kind: 'service', accountIds: ['acct-1', 'acct-2'] })).toMatchObject({
      told: [['b', 'accepted']],
      declined: [{ accountId: 'acct-1', code: 'ACCOUNT_NOT_TRADED' }],
    });
    expect(rig.journal.audits.filter(({ action }) => action === 'cancel_all')).toMatchObject([
      { reason: word.reason, detail: { orders: 1 } },
    ]);
  });

  it('a cancel-all of the service under one key is another one for each lane, whose accounts are others', async () => {
    const { rig, all } = await canceling('a');
    const everything = { kind: 'service', accountIds: ['acct-1', 'acct-2'] } as const;
    expect(await all(rig, everything)).toMatchObject({ replayed: false });
    rig.commit({ ...workingOrder, orderId: 'b', accountId: 'acct-2' });
    const otherLane = await CommandRig.leading({ shards: [1], accounts: ['acct-2'] }, rig);
    expect(await all(otherLane, everything)).toMatchObject({ replayed: false, told: [['b', 'accepted']] });
  });
});

describe('issue: A cancel-all showed no orders; a place of unknown result landed later and stayed open.', () => {
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
      expect(again.places).toMatchObject([
        { command: { state: 'applied' }, result: { command: { state: 'accepted' } } },
      ]);
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
      await rig.during(rig.commands.operator.resolve(commandId, 'not_sent', word));
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
});

describe('issue: To stop one strategy or one symbol, an operator had to cancel every order of the account.', () => {
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
});

describe('issue: A cancel-all of more orders than the venue takes requests a minute left the rest open.', () => {
  const asked = { ...word, idempotencyKey: 'all' };
  const message = 'not sent: none is left for 45 s';
  const reason = { code: 'REQUESTS_USED_UP', message };

  /** Five orders at a venue that takes two cancels in 45 s. */
  async function cancelAllOfFive(options: ConstructorParameters<typeof CommandRig>[0] = {}) {
    const rig = await CommandRig.leading(options);
    let windowEndsMs = 0;
    let left = 0;
    const sent: string[] = [];
    rig.entry.route = (request) => {
      const nowMs = rig.clock.monotonicMs();
      if (nowMs >= windowEndsMs) [windowEndsMs, left] = [nowMs + 45_000, 2];
      const retryAfterMs = windowEndsMs - nowMs;
      const held = { kind: 'not_sent', reason, mayRepeat: true, retryAfterMs } as const;
      if (left === 0) return { connect: { result: held }, result: held };
      left -= 1;
      if (request.kind === 'cancel') sent.push(request.orderId);
      return { result: accepted };
    };
    for (const n of [1, 2, 3, 4, 5]) rig.commit({ ...workingOrder, orderId: `o-${n}` }, { handed: false });
    const cancelAll = async (by = rig) => {
      const result = await by.during(by.commands.cancelAll({ kind: 'account', accountId: 'acct-1' }, asked));
      if (result.kind === 'declined') throw new Error(result.code);
      return result;
    };
    return { rig, sent, cancelAll };
  }

  it('goes on with the next minute, and says meanwhile that orders may be open', async () => {
    const { rig, sent, cancelAll } = await cancelAllOfFive();
    expect(await cancelAll()).toMatchObject({ open: true, inForce: true });
    expect(sent).toHaveLength(2);
    await rig.clock.advance(120_000);
    expect(sent.toSorted()).toEqual(['o-1', 'o-2', 'o-3', 'o-4', 'o-5']);
    expect(await cancelAll()).toMatchObject({ replayed: true, open: false, inForce: false });
  });

  it.each([
    ['was killed', async (rig: CommandRig) => rig.commands.endAll()],
    [
      'was stopped',
      async (rig: CommandRig) => {
        const patience = new AbortController();
        const drained = rig.commands.drain(patience.signal);
        await rig.clock.advance(5_000);
        patience.abort();
        await drained;
        await rig.clock.advance(1_000);
        rig.commands.endAll();
      },
    ],
    [
      'gave its shard away as the next minute began',
      async (rig: CommandRig) => {
        await rig.clock.advance(44_000);
        const patience = new AbortController();
        const quiet = rig.commands.quiesce(0, patience.signal);
        await rig.clock.advance(5_000);
        patience.abort();
        await quiet;
        rig.commands.end(0);
      },
    ],
  ])('goes on with it in the next process, once each, where the one before %s', async (_how, leave) => {
    const { rig, sent, cancelAll } = await cancelAllOfFive();
    await cancelAll();
    await leave(rig);
    const next = await CommandRig.leading({}, rig);
    next.entry.route = rig.entry.route;
    await next.clock.advance(180_000);
    expect(sent.toSorted()).toEqual(['o-1', 'o-2', 'o-3', 'o-4', 'o-5']);
    expect(await cancelAll(next)).toMatchObject({ replayed: true, open: false, inForce: false });
  });

  it.each([
    ['giving of its shard', (rig: CommandRig, signal: AbortSignal) => rig.commands.quiesce(0, signal)],
    ['end of its process', (rig: CommandRig, signal: AbortSignal) => rig.commands.drain(signal)],
  ])('holds up no %s: the next process goes on at once', async (_what, leave) => {
    const { rig, sent, cancelAll } = await cancelAllOfFive();
    await cancelAll();
    await rig.during(leave(rig, new AbortController().signal), 1_000);
    rig.commands.endAll();
    const next = await CommandRig.leading({}, rig);
    next.entry.route = rig.entry.route;
    await next.clock.advance(180_000);
    expect(sent.toSorted()).toEqual(['o-1', 'o-2', 'o-3', 'o-4', 'o-5']);
  });

  it('goes on in the next process also where the venue was busy as the shard was given away', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.entry.route = () => ({ answerMs: 500, result: atCapacity });
    const account = { kind: 'account', accountId: 'acct-1' } as const;
    const first = rig.commands.cancelAll(account, asked);
    await rig.clock.advance(100);
    await rig.during(rig.commands.quiesce(0, new AbortController().signal), 1_000);
    rig.commands.end(0);
    await rig.during(first);
    const next = await CommandRig.leading({}, rig);
    await next.clock.advance(1_000);
    expect(next.entry.sent).toHaveLength(1);
    const [command] = [...rig.journal.commands.values()];
    expect(command).toMatchObject({ state: 'not_sent', reason: { code: 'NOT_LEADER', status: 429 } });
  });

  it('goes on where its own process did not know for a moment whether it holds its lane', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    const { lease, clock } = rig;
    let certain = true;
    const mayAct = lease.mayAct.bind(lease);
    lease.mayAct = () => certain && mayAct();
    rig.entry.route = () => ({ connect: { ms: 100 }, result: accepted });
    const first = rig.commands.cancelAll({ kind: 'account', accountId: 'acct-1' }, asked);
    await clock.advance(50);
    certain = false;
    await clock.advance(1_000);
    certain = true;
    expect(await rig.during(first)).toMatchObject({ open: true, inForce: true });
    await clock.advance(5_000);
    expect(rig.entry.sent).toHaveLength(1);
  });

  it('takes nothing from the rate of cancels that the account has beside it', async () => {
    const { rig, cancelAll } = await cancelAllOfFive({ cancelRate: { perSecond: 0.1, burst: 1 } });
    await cancelAll();
    rig.commit({ ...workingOrder, orderId: 'other' });
    const other = { kind: 'cancel', stream: workingOrder.stream, accountId: 'acct-1', orderId: 'other' } as const;
    expect(await rig.send(other)).toMatchObject({ state: 'not_sent', reason });
  });

  it('a cancel by itself is not sent: its caller is told, and may ask again', async () => {
    const { rig, cancelAll } = await cancelAllOfFive();
    await cancelAll();
    const alone = { kind: 'cancel', stream: workingOrder.stream, accountId: 'acct-1', orderId: 'o-5' } as const;
    expect(await rig.send(alone)).toMatchObject({ state: 'not_sent', reason });
  });
});

describe('issue: The new order of a replace stayed open behind a cancel-all that did not list the old one.', () => {
  const before = { ...equityView, stream: 'alpaca_paper', orderId: 'order-1', origin: 'external' } as const;
  const request = { kind: 'replace', stream: 'alpaca_paper', accountId: 'acct-1', orderId: 'order-1' } as const;

  it.each([
    ['had ended', { kind: 'account', accountId: 'acct-1' }],
    ['was not selected', { kind: 'account', accountId: 'acct-1', only: { principal: 'desk' } }],
  ] as const)('cancels the new order once it is seen, where the one before %s', async (how, scope) => {
    const rig = await CommandRig.leading();
    rig.commit(before);
    rig.entry.scripts.push({ result: unknown });
    const { commandId } = await rig.send({ ...request, terms: { price: '191' } });
    if (how === 'had ended') rig.commit({ ...before, status: 'replaced', leavesQty: '0', replacedBy: 'order-2' });
    const asked = { ...word, idempotencyKey: 'all' };
    const cancelAll = () => rig.during(rig.commands.cancelAll(scope, asked));
    expect(await cancelAll()).toMatchObject({ open: true, inForce: true, orders: [], places: [{ commandId }] });
    const reference = rig.command(commandId).attempts[0]?.attemptId ?? '';
    const made = { ...before, orderId: 'order-2', origin: 'tidemark', commandId, clOrdId: reference } as const;
    rig.commit(made, { commandId });
    await rig.clock.advance(2_000);
    expect(rig.entry.sent.map(({ request: { kind, ...of } }) => [kind, 'orderId' in of && of.orderId])).toEqual([
      ['replace', 'order-1'],
      ['cancel', 'order-2'],
    ]);
    expect(await cancelAll()).toMatchObject({ open: false });
  });
});

describe('issue: A cancel-all in force showed a cancel as unknown for hours after it was resolved.', () => {
  it('shows what has become of each cancel since, while it waits for a place', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: unknown }, { result: unknown });
    await rig.send(placeEquity);
    rig.commit(workingOrder);
    const asked = { ...word, idempotencyKey: 'all' };
    const cancelAll = () => rig.during(rig.commands.cancelAll({ kind: 'account', accountId: 'acct-1' }, asked));
    expect(await cancelAll()).toMatchObject({ inForce: true, orders: [{ result: { command: { state: 'unknown' } } }] });
    rig.commit({ ...workingOrder, status: 'canceled', leavesQty: '0' });
    await rig.clock.advance(1_000);
    expect(await cancelAll()).toMatchObject({ inForce: true, orders: [{ result: { command: { state: 'applied' } } }] });
  });
});

describe('issue: A cancel-all did not read its account, since the last requests were kept for cancels.', () => {
  /** A venue of 200 requests a minute has ten left. */
  async function withTenLeft() {
    const rig = await CommandRig.leading();
    const requests = new RequestBudget(rig.clock);
    const headers = { 'x-ratelimit-limit': '200', 'x-ratelimit-remaining': '10', 'x-ratelimit-reset': '31' };
    const date = new Date(1_000).toUTCString();
    requests.take('audit');
    requests.saw({ kind: 'answered', status: 200, headers: { ...headers, date }, text: '' });
    rig.probes.answer = ({ id, purpose = 'resync' }) => {
      const held = requests.take(purpose);
      return held === undefined ? rig.probes.complete(...(id === undefined ? [] : [id])) : failedLook(held.message);
    };
    return rig;
  }

  it('reads it with the requests that are kept for its cancels', async () => {
    const rig = await withTenLeft();
    rig.commit(workingOrder);
    const asked = { ...word, idempotencyKey: 'all' };
    const result = await rig.during(rig.commands.cancelAll({ kind: 'account', accountId: 'acct-1' }, asked));
    expect(result).toMatchObject({ open: false, unread: [], orders: [{ orderId: 'order-1' }] });
  });

  it('so does a cancel of an order that was never seen here', async () => {
    const rig = await withTenLeft();
    const { orderId } = predictionView;
    const { answer } = rig.probes;
    rig.probes.answer = (asked) => {
      if (asked.kind === 'order') rig.commit({ ...workingOrder, orderId });
      return answer(asked);
    };
    expect(await rig.send({ kind: 'cancel', stream: 'prediction', accountId: 'acct-1', orderId })).toMatchObject({
      state: 'accepted',
    });
  });
});

describe('issue: A cancel-all said that nothing was open, and the order that another program made was.', () => {
  const before = { ...equityView, orderId: 'order-1', origin: 'external' } as const;
  const asked = { ...word, idempotencyKey: 'all' };
  const account = { kind: 'account', accountId: 'acct-1' } as const;

  /** Another program replaces the order just before its cancel comes. */
  it('may leave something open where an order of it goes on as another one', async () => {
    const rig = await CommandRig.leading();
    rig.commit(before);
    const cancelAll = () => rig.during(rig.commands.cancelAll(account, asked));
    await cancelAll();
    rig.commit({ ...before, status: 'replaced', leavesQty: '0', replacedBy: 'order-2' });
    await rig.clock.advance(1_000);
    expect(await cancelAll()).toMatchObject({ open: true, orders: [{ result: { command: { state: 'moot' } } }] });
  });

  it('leaves nothing open where the other one is made by a replace of ours, and is cancelled', async () => {
    const rig = await CommandRig.leading();
    const order = { ...before, stream: 'alpaca_paper' } as const;
    rig.commit(order);
    rig.entry.scripts.push({ result: unknown });
    const request = { kind: 'replace', stream: 'alpaca_paper', accountId: 'acct-1', orderId: 'order-1' } as const;
    const { commandId } = await rig.send({ ...request, terms: { price: '191' } });
    const cancelAll = () => rig.during(rig.commands.cancelAll(account, asked));
    await cancelAll();
    const clOrdId = rig.command(commandId).attempts[0]?.attemptId ?? '';
    const made = { ...order, orderId: 'order-2', origin: 'tidemark', commandId, clOrdId } as const;
    rig.commit({ ...order, status: 'replaced', leavesQty: '0', replacedBy: 'order-2' });
    rig.commit(made, { commandId });
    await rig.clock.advance(1_000);
    rig.commit({ ...made, status: 'canceled', leavesQty: '0' });
    await rig.clock.advance(1_000);
    expect(await cancelAll()).toMatchObject({ open: false, inForce: false });
  });
});
