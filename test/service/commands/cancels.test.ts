import { describe, expect, it, onTestFinished } from 'vitest';
import { expireOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import type { Answer } from '../../../src/service/commands/answer.ts';
import { commandDefaults } from '../../../src/service/commands/command-options.ts';
import type { CancelAll } from '../../../src/service/commands/commands.ts';
import {
  atCapacity,
  CommandRig,
  cancelWorking,
  placeEquity,
  placePrediction,
  refused,
  unknown,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';
import { account, CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';
import { writeDeps, writeTo } from '../../support/commands/order-writes.ts';
import { outcomeUnknown } from '../../support/commands/scripted-entry.ts';
import { equityView, predictionView } from '../../support/orders/arbitrary-orders.ts';
import { outOfReachIds, reachableIds } from '../../support/orders/odd-ids.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

describe('issue: A cancel was answered with ACCOUNT_NOT_FOUND while the accounts were still being listed.', () => {
  // Just after a takeover nothing is followed yet, and 404 ACCOUNT_NOT_FOUND told a caller who
  // wanted out that there was nothing to cancel.
  it.each([placeEquity, cancelWorking])(
    'a command before the accounts are listed is told to come again, not that its account does not exist',
    async (request) => {
      const rig = await CommandRig.leading();
      rig.probes.now = { known: false, mayAppear: true, live: false, isSim: false, certain: false, notEnrolled: false };
      expect(await rig.submit(request)).toMatchObject({
        kind: 'declined',
        code: 'SOURCE_NOT_LIVE',
        retryAfterMs: 1_000,
      });
      rig.probes.now = { known: false, live: false, isSim: false, certain: false, notEnrolled: false };
      expect(await rig.submit(request)).toMatchObject({ kind: 'declined', code: 'ACCOUNT_NOT_FOUND' });
    },
  );
});

describe('issue: A cancel was answered with 429 while 200 places of the same account were waiting.', () => {
  // Found in review: cancels stood in the same line as places, and got 429 when 200 of them waited:
  // a strategy that runs wild could not be cancelled, nor could cancel-all.
  it('a cancel goes out at once, however many places and cancels of the account wait', async () => {
    const rig = await CommandRig.leading({ maxWaitingPerAccount: 3 });
    rig.commit({ ...workingOrder, orderId: 'other' });
    rig.commit(workingOrder);
    rig.journal.hook = async (_operation, transact) => {
      await rig.clock.sleep(20);
      return transact();
    };
    const place = (qty: number) => ({ ...placeEquity, terms: { ...placeEquity.terms, qty: String(qty) } });
    const places = [1, 2, 3, 4, 5].map((qty) => rig.commands.submit(rig.submission(place(qty))));
    const cancels = Array.from({ length: 5 }, () =>
      rig.commands.submit(rig.submission({ ...cancelWorking, orderId: 'other' })),
    );
    const all = rig.commands.cancelAll({ kind: 'account', accountId: 'acct-1' }, { ...word, idempotencyKey: 'all' });
    const [placed, canceled, swept] = await rig.during(Promise.all([Promise.all(places), Promise.all(cancels), all]));
    expect(placed.map((result) => (result.kind === 'declined' ? result.code : result.kind))).toEqual([
      ...['journaled', 'journaled', 'journaled', 'RATE_LIMITED', 'RATE_LIMITED'],
    ]);
    expect(canceled.map(({ kind }) => kind)).toEqual(Array(5).fill('journaled'));
    expect(swept).toMatchObject({ orders: [{ result: { kind: 'journaled' } }, { result: { kind: 'journaled' } }] });
    expect(rig.entry.sent.filter(({ request }) => request.kind === 'cancel')).toHaveLength(7);
  });
});

describe('issue: A cancel got ORDER_CLOSED although the platform had taken back the end of the order.', () => {
  it.each([equity, prediction])(
    'a cancel of a $stream order that has ended here is sent, and resolved by the platform',
    async (request) => {
      const world = await CommandWorld.start();
      const { order } = await world.working(request);
      expireOrder(world.exchange, order);
      await world.until(() => world.stored(order).status === 'expired');
      const cancel = {
        kind: 'cancel',
        stream: request.stream,
        accountId: account,
        orderId: order.terms.orderId,
      } as const;
      const refused = await world.send(cancel);
      expect(refused.orderStatus ?? refused.baseline?.status).toBe('expired');
      await world.until(() => world.command(refused.commandId).state === 'moot');
      expect(world.writes.filter(({ kind }) => kind === 'cancel')).toHaveLength(1);

      world.script({ applied: 'no', answer: outcomeUnknown });
      const lost = await world.send(cancel);
      await world.pass(5_000);
      expect(world.command(lost.commandId).state, 'not before a read that began late enough').toBe('unknown');
      await world.until(() => world.command(lost.commandId).state === 'moot');
      expect(world.evidenceCodes(lost.commandId)).toContain('still_ended');
    },
  );

  it('a cancel of an order whose end the platform took back without a word to us cancels it', async () => {
    const world = await CommandWorld.start();
    const order = await world.endedAndTakenBack(equity);
    expect(world.stored(order).status).toBe('expired');
    const { commandId } = await world.send({
      kind: 'cancel',
      stream: 'account',
      accountId: account,
      orderId: order.terms.orderId,
    });
    await world.until(() => order.state === 'canceled');
    await world.until(() => world.command(commandId).state === 'applied');
    expect(world.stored(order).status).toBe('canceled');
  });
});

describe('issue: A cancel ended as moot, and the read that it went by had shown the order working.', () => {
  const ended = { ...workingOrder, accountId: 'acct-1', status: 'canceled' } as const;
  const refusedBy = (status: number) => ({
    result: { kind: 'refused', reason: { code: 'NO', message: 'no', status } } as const,
  });

  /** An order that we hold as ended; reads show it as the platform's `status` says. */
  async function rigOf(works: boolean) {
    const rig = await CommandRig.leading();
    rig.commit(ended);
    rig.probes.answer = ({ kind }) => {
      if (kind === 'reference') return rig.probes.complete();
      const look = rig.probes.complete('order-1');
      return look.complete && works ? { ...look, working: ['order-1'] } : look;
    };
    return rig;
  }

  const stateOf = (rig: CommandRig) => [...rig.journal.commands.values()].map(({ state }) => state);

  it.each([
    [true, 'refused'],
    [false, 'moot'],
  ])('after a refusal, by one look at the order (it works: %s)', async (works, state) => {
    const rig = await rigOf(works);
    rig.entry.scripts.push(refusedBy(409));
    await rig.during(rig.submit(cancelWorking));
    await rig.clock.advance(60_000);
    expect(stateOf(rig)).toEqual([state]);
  });

  it.each([
    [true, 'unknown'],
    [false, 'moot'],
  ])('without an answer, by the reads that follow (it works: %s)', async (works, state) => {
    const rig = await rigOf(works);
    rig.entry.scripts.push({ result: { kind: 'unknown', reason: { code: 'HTTP_504', message: 'no', status: 504 } } });
    await rig.during(rig.submit(cancelWorking));
    await rig.clock.advance(60_000);
    expect(stateOf(rig)).toEqual([state]);
  });

  it.each([
    [404, true, false],
    [409, true, true],
    [409, false, false],
    [422, true, true],
    [422, false, false],
    [403, true, true],
  ])(
    'a cancel-all whose cancel is refused by %i (it works: %s) says that it may be open: %s',
    async (status, works, open) => {
      const rig = await rigOf(works);
      // The reads of both streams show it.
      rig.commit({ ...ended, stream: 'account' });
      rig.entry.route = () => refusedBy(status);
      const asked = rig.commands.cancelAll(
        { kind: 'account', accountId: 'acct-1' },
        { by: 'desk', reason: 'stop', requestId: 'r', idempotencyKey: 'all' },
      );
      const result = await rig.during(asked);
      expect(result.kind === 'done' && [result.orders.length, result.open]).toEqual([2, open]);
    },
  );
});

describe('issue: A cancel stayed unknown for as long as another order of its account was uncertain.', () => {
  const ended = { ...workingOrder, status: 'canceled', statusRaw: 'canceled', leavesQty: '0' } as const;

  /** The cancel of an ended order: its answer is lost, and lists show the row as uncertain. */
  async function canceled(uncertain: readonly string[] | undefined): Promise<string> {
    const rig = await CommandRig.leading();
    rig.commit(ended);
    rig.entry.scripts.push({ result: unknown });
    const rest = uncertain && { uncertain };
    rig.probes.answer = ({ kind }) =>
      kind === 'account'
        ? { ...rig.probes.complete(ended.orderId, 'other'), certain: false, working: ['other'], ...rest }
        : { complete: false, error: { code: 'NO_ANSWER', message: 'none', retryable: true, sent: 'maybe' } };
    const { commandId } = await rig.send(cancelWorking);
    await rig.clock.advance(10 * 60_000);
    return rig.state(commandId);
  }

  it('is resolved by a list that is uncertain of other orders alone', async () => {
    expect(await canceled(['other'])).toBe('moot');
  });

  it.each([[[ended.orderId]], [undefined]])(
    'is not by one that is uncertain of its own order: %s',
    async (uncertain) => {
      expect(await canceled(uncertain)).toBe('unknown');
    },
  );
});

describe('issue: 400 cancels of one caller became 400 requests to the platform, without any limit.', () => {
  const ceiling = { cancelRate: { perSecond: 10, burst: 20 } };

  const cancelOf = (orderId: string) => ({ ...cancelWorking, orderId });

  /** A holder whose platform has an order of any id. */
  async function leading(over: Parameters<typeof CommandRig.leading>[0], count = 40) {
    const rig = await CommandRig.leading(over);
    const known = ['later', 'one-more', 'x', 'y', ...Array.from({ length: count }, (_, n) => `id-${n}`)];
    for (const orderId of known) rig.commit({ ...workingOrder, orderId }, { handed: false });
    rig.commit({ ...workingOrder, accountId: 'acct-2', orderId: 'other' }, { handed: false });
    return rig;
  }

  describe('cancels', () => {
    it('above the ceiling of their account are declined with the time to wait, and cost the platform nothing', async () => {
      const rig = await leading(ceiling, 400);
      const asked = Array.from({ length: 400 }, (_, n) => rig.commands.submit(rig.submission(cancelOf(`id-${n}`))));
      const results = await rig.during(Promise.all(asked));
      const declined = results.filter((result) => result.kind === 'declined');
      expect(declined.length).toBeGreaterThan(350);
      expect(declined[0]).toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: expect.any(Number) });
      expect(rig.entry.sent.length).toBeLessThan(50);
      await rig.clock.advance(2_000);
      expect((await rig.send(cancelOf('later'))).state).toBe('accepted');
    });

    it('have a ceiling of their own: neither places nor another account use it up', async () => {
      const rig = await leading({ ...ceiling, rate: { perSecond: 1, burst: 1 } });
      for (let n = 0; n < 5; n += 1) await rig.submit(placePrediction);
      await rig.during(
        Promise.all(Array.from({ length: 40 }, (_, n) => rig.commands.submit(rig.submission(cancelOf(`id-${n}`))))),
      );
      expect(await rig.declined(cancelOf('one-more'))).toBe('RATE_LIMITED');
      expect(
        (await rig.send({ ...cancelOf('other'), accountId: 'acct-2' } as unknown as typeof cancelWorking)).state,
      ).toBe('accepted');
    });

    it('again under the same key cost nothing', async () => {
      const rig = await leading(ceiling);
      for (let times = 0; times < 60; times += 1) await rig.send(cancelOf('x'), { idempotencyKey: 'one' });
      expect((await rig.send(cancelOf('y'))).state).toBe('accepted');
    });

    it('of a cancel-all pass: its list is the ceiling', async () => {
      const rig = await CommandRig.leading(ceiling);
      for (let n = 0; n < 100; n += 1) rig.commit({ ...workingOrder, orderId: `o-${n}` }, { handed: false });
      const all = rig.commands.cancelAll({ kind: 'account', accountId: 'acct-1' }, { ...word, idempotencyKey: 'all' });
      expect(await rig.during(all)).toMatchObject({ open: false });
      expect(rig.entry.sent).toHaveLength(100);
    });

    it('have a ceiling by default that no person reaches', () => {
      expect(commandDefaults.cancelRate.burst).toBeGreaterThanOrEqual(500);
      expect(commandDefaults.cancelRate.perSecond).toBeGreaterThanOrEqual(50);
    });
  });

  describe('of one order', () => {
    it('one cancel at a time is written, and each is', async () => {
      const rig = await CommandRig.leading();
      rig.commit(workingOrder);
      let inFlight = 0;
      let most = 0;
      rig.entry.onWrite = () => {
        inFlight += 1;
        most = Math.max(most, inFlight);
      };
      rig.entry.route = () => ({
        answerMs: 100,
        result: () => {
          inFlight -= 1;
          return { kind: 'accepted', answer: {} };
        },
      });
      const results = await rig.during(
        Promise.all([1, 2, 3].map(() => rig.commands.submit(rig.submission(cancelWorking)))),
      );
      expect(results).toMatchObject([1, 2, 3].map(() => ({ command: { state: 'accepted' } })));
      expect([most, rig.entry.sent.length]).toEqual([1, 3]);
    });

    it('a cancel that waits for another until its deadline is not sent, and says why', async () => {
      const rig = await CommandRig.leading({ deadlineMs: 3_000 });
      rig.commit(workingOrder);
      rig.entry.scripts.push({ answerMs: 10_000, result: unknown });
      const first = rig.commands.submit(rig.submission(cancelWorking));
      await rig.clock.advance(10);
      const second = await rig.send(cancelWorking);
      expect(second).toMatchObject({ state: 'not_sent', reason: { code: 'ORDER_ACTION_PENDING' } });
      await rig.during(first);
      expect((await rig.send(cancelWorking)).state).toBe('accepted');
      expect(rig.entry.sent).toHaveLength(2);
    });
  });

  // Ten attempts in ten seconds for each command, whatever `Retry-After` said.
  describe('further attempts', () => {
    it('wait for as long as the platform asks', async () => {
      const rig = await CommandRig.leading();
      rig.entry.scripts.push({ result: { ...atCapacity, retryAfterMs: 4_000 } as typeof atCapacity });
      await rig.send(placePrediction);
      const [first, second] = rig.entry.sent;
      expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(4_000);
    });

    it('wait as long where the reason was there before anything was journaled', async () => {
      const rig = await CommandRig.leading();
      const result = { ...atCapacity, retryAfterMs: 4_000 } as typeof atCapacity;
      rig.entry.scripts.push({ connect: { result }, result });
      const beganMs = rig.clock.monotonicMs();
      await rig.send(placePrediction);
      expect(rig.entry.sent.map(({ atMs }) => atMs - beganMs >= 4_000)).toEqual([true]);
    });

    it('are not made where the platform asks for more than the deadline leaves', async () => {
      const rig = await CommandRig.leading();
      rig.entry.scripts.push({ result: { ...atCapacity, retryAfterMs: 60_000 } as typeof atCapacity });
      expect(await rig.send(placePrediction)).toMatchObject({
        state: 'not_sent',
        reason: { code: 'ORDER_ENTRY_AT_CAPACITY' },
      });
      expect(rig.entry.sent).toHaveLength(1);
    });

    it('take from the budget of their account', async () => {
      const rate = { perSecond: 4, burst: 8 };
      const rig = await CommandRig.leading({ rate });
      rig.entry.route = () => ({ result: atCapacity });
      const placing = Array.from({ length: 8 }, (_, n) =>
        rig.commands.submit(
          rig.submission({ ...placePrediction, terms: { ...placePrediction.terms, quantity: String(n + 1) } }),
        ),
      );
      const beganMs = rig.clock.monotonicMs();
      await rig.during(Promise.all(placing));
      const tookMs = rig.clock.monotonicMs() - beganMs;
      expect(rig.entry.sent.length).toBeGreaterThan(10);
      expect(rig.entry.sent.length).toBeLessThanOrEqual(rate.burst + (rate.perSecond * tookMs) / 1000 + 1);
    });
  });
});

describe('issue: A repeated key got the answer that nothing was sent, although its order was live.', () => {
  // Found in review: what declines a command before it is looked at (commands turned off, a full
  // line, a standby) did so before its key was looked up. Whoever asked again was told that nothing
  // was sent, of an order that was live.
  describe('the same key again is answered with its command', () => {
    async function sent() {
      const rig = await CommandRig.leading();
      const submission = rig.submission(placeEquity);
      const first = await rig.during(rig.commands.submit(submission));
      if (first.kind !== 'journaled') throw new Error(first.message);
      const { commandId, state } = first.command;
      const again = (beside: CommandRig) => beside.during(beside.commands.submit(submission));
      return { rig, again, replayed: { kind: 'journaled', replayed: true, command: { commandId, state } } };
    }

    it('when commands were turned off meanwhile', async () => {
      const { rig, again, replayed } = await sent();
      const off = await CommandRig.leading({ enabled: false }, rig);
      expect(await again(off)).toMatchObject(replayed);
      expect(await off.declined(placeEquity)).toBe('COMMANDS_OFF');
    });

    it('by a process that stands by, and by one that drains', async () => {
      const { rig, again, replayed } = await sent();
      expect(await again(new CommandRig({}, rig))).toMatchObject(replayed);
      await rig.commands.drain(new AbortController().signal);
      expect(await again(rig)).toMatchObject(replayed);
    });

    it('when too many commands of the account wait', async () => {
      const { rig, again, replayed } = await sent();
      const full = await CommandRig.leading({ maxWaitingPerAccount: 0 }, rig);
      expect(await again(full)).toMatchObject(replayed);
      expect(await full.declined(placeEquity)).toBe('RATE_LIMITED');
    });

    it('or with nothing said about it while the journal cannot be read', async () => {
      const { rig, again } = await sent();
      const off = await CommandRig.leading({ enabled: false }, rig);
      rig.journal.hook = () => Promise.reject(new Error('gone'));
      expect(await again(off)).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringContaining('by this request'),
      });
    });

    it('and with another body it is refused, whatever stands in the way', async () => {
      const { rig } = await sent();
      const { idempotencyKey = '' } = [...rig.journal.commands.values()][0] ?? {};
      const off = await CommandRig.leading({ enabled: false }, rig);
      const other = { ...placeEquity, terms: { ...placeEquity.terms, qty: '11' } };
      expect(await off.declined(other, { idempotencyKey })).toBe('IDEMPOTENCY_KEY_REUSED');
    });
  });
});

describe('issue: A cancel-all answered that nothing was open, and left an order that worked at the venue.', () => {
  const all = { kind: 'account', accountId: account } as const;

  async function answered(world: CommandWorld, asked: Promise<Answer<CancelAll>>) {
    let over = false;
    void asked.then(() => {
      over = true;
    });
    await world.until(() => over);
    const result = await asked;
    if (result.kind === 'declined') throw new Error(result.code);
    return result;
  }

  /**
   * A cancel-all asked our own table which orders are open. One that the platform had made work
   * again without a word to us was left alone, and the answer said that nothing was open.
   */
  it.each([equity, prediction])('a cancel-all cancels an order of $stream that we believe ended', async (request) => {
    const world = await CommandWorld.start();
    const order = await world.endedAndTakenBack(request);
    const { orders } = await answered(world, world.service.commands.cancelAll(all, { ...word, idempotencyKey: 'all' }));
    expect(orders.map(({ orderId }) => orderId)).toEqual([order.terms.orderId]);
    await world.until(() => order.state === 'canceled');
  });

  const ended = { ...workingOrder, accountId: 'acct-1', orderId: 'ended', status: 'canceled' } as const;
  const underTest = { kind: 'account', accountId: 'acct-1' } as const;

  async function cancelAllOf(rig: CommandRig, only = {}) {
    const result = await rig.during(
      rig.commands.cancelAll({ ...underTest, ...only }, { ...word, idempotencyKey: 'all' }),
    );
    if (result.kind === 'declined') throw new Error(result.code);
    return result;
  }

  it.each([
    ['of the symbol', { only: { symbol: workingOrder.instrument.symbol } }, ['ended']],
    ['of another symbol', { only: { symbol: 'OTHER' } }, []],
    ['of another principal', { only: { principal: 'robot' } }, []],
  ])('it is selected as every order is: those %s', async (_name, only, cancelled) => {
    const rig = await CommandRig.leading();
    rig.commit(ended);
    rig.probes.answer = ({ kind }) => rig.probes.complete(...(kind === 'open' ? ['ended'] : []));
    const { orders } = await cancelAllOf(rig, only);
    expect(orders.filter(({ stream }) => stream === ended.stream).map(({ orderId }) => orderId)).toEqual(cancelled);
  });

  it('one that the platform shows and that was never stored is told', async () => {
    const rig = await CommandRig.leading();
    rig.probes.answer = ({ kind }) => rig.probes.complete(...(kind === 'open' ? ['strange'] : []));
    const { open, unread } = await cancelAllOf(rig);
    expect(open).toBe(true);
    expect(unread).toContainEqual(
      expect.objectContaining({ code: 'NOT_READ', message: expect.stringContaining('strange') }),
    );
  });

  it('a list that can not be read whole is told, and what we hold open is cancelled all the same', async () => {
    const rig = await CommandRig.leading();
    rig.commit({ ...workingOrder, accountId: 'acct-1' });
    rig.probes.answer = () => ({ complete: false, error: { message: 'half of it', retryable: true, sent: 'yes' } });
    const { open, orders, unread } = await cancelAllOf(rig);
    expect(open).toBe(true);
    expect(orders).toHaveLength(1);
    expect(unread.map(({ code }) => code)).toEqual(['NOT_READ', 'NOT_READ']);
  });
});

describe('issue: No cancel and no cancel-all reached an order that was followed: its id had a slash.', () => {
  const accountId = 'acct-1';
  const streams = ['account', 'prediction'] as const;

  function orderOf(stream: (typeof streams)[number], orderId: string) {
    return { ...(stream === 'account' ? equityView : predictionView), orderId, accountId, origin: 'external' as const };
  }

  // `a/b`, `a%2Fb` and `x?y=1#z` were followed, and each of their cancels ended as not_sent. A
  // prediction order had to have a UUID.
  it.each(streams)('a cancel of a stored %s order is sent under the id that the platform showed', async (stream) => {
    const rig = await CommandRig.leading();
    for (const orderId of reachableIds) {
      rig.commit(orderOf(stream, orderId));
      expect(await rig.send({ kind: 'cancel', stream, accountId, orderId })).toMatchObject({
        state: 'accepted',
        orderId,
      });
    }
    expect(rig.entry.sent.map(({ request }) => 'orderId' in request && request.orderId)).toEqual([...reachableIds]);
    expect(rig.probes.asked).toEqual([]);
  });

  it('an id that may be read as another path is refused with one sentence, and nothing is sent', async () => {
    const server = await scriptedServer((_request, response) => json(response, 500, {}));
    onTestFinished(server.close);
    for (const orderId of outOfReachIds)
      expect(
        await writeTo(writeDeps(), server.url, { kind: 'cancel', stream: 'account', accountId, orderId }, 'tm-1'),
      ).toEqual({
        kind: 'not_sent',
        mayRepeat: false,
        reason: {
          code: 'INVALID_REQUEST',
          message:
            'nothing was sent: a server on the way could read this id as another address, so the order can be looked at and changed only at the platform itself',
        },
      });
    expect(server.received).toEqual([]);
  });
});

describe('issue: A cancel-all at Alpaca stayed open for an order that was filled as it was cancelled.', () => {
  // Alpaca refuses the cancel of an order that has ended by 422, the platform by 409.
  it('looks at the order, and has nothing open', async () => {
    const rig = await CommandRig.leading();
    const order = { ...equityView, stream: 'alpaca_paper', orderId: 'order-1', origin: 'external' } as const;
    rig.commit(order);
    rig.entry.scripts.push({ result: refused(422) });
    rig.probes.answer = ({ kind }) => {
      if (kind === 'order') rig.commit({ ...order, status: 'filled', cumQty: order.quantity ?? '0', leavesQty: '0' });
      return rig.probes.complete(...(kind === 'order' ? ['order-1'] : []));
    };
    const asked = { by: 'desk', reason: 'stop', requestId: 'r', idempotencyKey: 'all' };
    const cancelAll = () => rig.during(rig.commands.cancelAll({ kind: 'account', accountId: 'acct-1' }, asked));
    await cancelAll();
    await rig.clock.advance(5_000);
    expect(await cancelAll()).toMatchObject({ open: false, orders: [{ result: { command: { state: 'moot' } } }] });
  });
});
