import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { acceptOrder, acceptPending, fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import type { WriteFault } from '../../../src/sandbox/faults/fault-shapes.ts';
import { SocketWriteLines } from '../../../src/venue/platform/socket-write-lines.ts';
import { noStreamFaults } from '../../simulation/plan/stream-faults.ts';
import { account, CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';
import { orderClient } from '../../support/commands/order-entry.ts';
import { fixedToken } from '../../support/commands/order-writes.ts';
import { platformEntry } from '../../support/commands/platform-entry.ts';
import { answered, atCapacity, outcomeUnknown, timeout } from '../../support/commands/scripted-entry.ts';
import { fillsOf } from '../../support/platform/fills-of.ts';
import { controlLines } from '../../support/platform/sandbox.ts';

describe('issue: An order whose answer timed out was placed again, and both orders were filled.', () => {
  // What protects: `checkPlace` (domain/command-checks.ts) refuses the second key, the lookup by
  // key (service/commands/submit-command.ts) answers the first.
  it('an order whose answer timed out is not placed again: its key is the same command, and another key with the same terms is refused', async () => {
    const world = await CommandWorld.start();
    world.script({ applied: { lateMs: 4_000 }, answer: timeout });
    const first = await world.send(equity, { idempotencyKey: 'loop-1' });
    expect(first.state).toBe('unknown');

    expect(await world.submit(equity, { idempotencyKey: 'loop-1' })).toMatchObject({
      kind: 'journaled',
      replayed: true,
      command: { commandId: first.commandId },
    });
    expect(await world.declined(equity, { idempotencyKey: 'loop-2' })).toBe('UNRESOLVED_PRIOR_COMMAND');

    await world.until(() => world.command(first.commandId).state === 'applied');
    expect(world.writes).toHaveLength(1);
    expect(world.landed(first.commandId).terms.symbol).toBe('AAPL');
  });
});

describe('issue: An HTTP library repeated an order by itself after a 504, and the venue took both.', () => {
  const accountId = 'SIM-1001';
  const prediction = {
    symbol: 'FED-CUT-DEC26',
    outcome: 'YES',
    side: 'buy',
    orderType: 'limit',
    timeInForce: 'gtc',
    quantity: '10',
    price: '0.4',
  };
  const equity = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'GTC', price: '200' };

  const requests: Readonly<Record<string, (orderId: string) => CommandRequest>> = {
    'a place of an equity order': () => ({ kind: 'place', stream: 'account', accountId, terms: equity }),
    'a place of a prediction order': () => ({ kind: 'place', stream: 'prediction', accountId, terms: prediction }),
    'a replace': (orderId) => ({
      kind: 'replace',
      stream: 'prediction',
      accountId,
      orderId,
      terms: { quantity: '12' },
    }),
    'a cancel': (orderId) => ({ kind: 'cancel', stream: 'prediction', accountId, orderId }),
  };
  const faults: readonly WriteFault[] = [
    'outcome_unknown',
    'status_504',
    'status_503',
    'status_429',
    'torn',
    'reset',
    'redirect',
  ];

  // HTTP libraries repeat by themselves: a POST on 504 and 503, a DELETE after a reset, anything on
  // a redirect. The venue had each of them. What protects: one `writeOrder` a call
  // (venue/platform/order-writes.ts) over a socket of our own
  // (venue/platform/socket-write-lines.ts) that repeats nothing.
  it.each(Object.entries(requests))(
    '%s reaches the platform once, whatever it answers, and is unknown',
    async (_name, request) => {
      const client = await orderClient({ market: { openOrders: 0, knownOrders: 0 } });
      const token = client.headers.authorization.slice('Bearer '.length);
      const entry = platformEntry(
        {
          accounts: { hasListed: true, tokensFor: () => fixedToken(token), account: () => undefined },
          lines: new SocketWriteLines({ clock: systemClock }),
          clock: systemClock,
          metrics: createMetrics().platform,
        },
        { platformUrl: client.at.platform, stagingUrl: client.at.staging },
      );
      for (const [index, fault] of faults.entries()) {
        const asked = request(await client.working());
        const writes = async () =>
          (await controlLines(client.at, '/ledger?kind=request')).filter(({ method, url }) => isWrite(method, url));
        const before = (await writes()).length;
        await client.fault({ fault, applied: 'yes' });
        const signal = AbortSignal.timeout(30_000);
        const result = await entry.send(asked, `tm-case-2-${index}`, {
          signal,
          mayWrite: async () => true,
          mayStillWrite: () => true,
        });
        expect(result, fault).toMatchObject({ kind: 'unknown' });
        expect((await writes()).length - before, `writes after ${fault}`).toBe(1);
      }
    },
  );

  function isWrite(method: string, url: string): boolean {
    return method !== 'GET' && url.includes('/orders');
  }
});

describe('issue: A retry timer placed an order again although the stream had already confirmed it.', () => {
  const hour = 3_600_000;

  // What protects: `ProbeWatch.forget` (service/commands/probe-watch.ts) takes
  // the timers with it when a command is over.
  it('what the stream confirms has no timer left: nothing is written and nothing is looked up for it in the hour after', async () => {
    const world = await CommandWorld.start();
    world.script({ applied: { lateMs: 100 }, answer: outcomeUnknown });
    const { commandId } = await world.send(equity);
    await world.until(() => world.command(commandId).state === 'applied', 5_000);
    expect(world.evidenceCodes(commandId)).toContain('landed');
    const [writes, lookups] = [world.writes.length, world.reads.lookups.length];
    await world.pass(hour);
    expect([world.writes.length, world.reads.lookups.length]).toEqual([writes, lookups]);
    expect(writes).toBe(1);
  });

  it('the one retry there is, after the documented word that nothing was sent, is a new attempt of the same command and the last', async () => {
    const world = await CommandWorld.start();
    world.script({ applied: 'no', answer: atCapacity });
    const { commandId } = await world.send(prediction);
    await world.until(() => world.command(commandId).state === 'applied');
    await world.pass(hour);
    const { attempts } = world.command(commandId);
    expect(attempts.map(({ state }) => state)).toEqual(['not_sent', 'accepted']);
    expect(world.writes.map(({ attemptId }) => attemptId)).toEqual(attempts.map(({ attemptId }) => attemptId));
    expect(world.ordersOf(commandId)).toHaveLength(1);
  });
});

describe('issue: Six live orders disappeared from the books after some minutes of DNS errors.', () => {
  // The name service failed for some minutes; each failed query counted as "not found", and six
  // live orders were dropped from the books. What protects: `resultOf`
  // (service/run/command-parts.ts): a read that did not end well is `failed`, which has no shape
  // among misses.
  it('six orders that landed while nobody could be asked stay unknown for as long as that lasts, and are all found afterwards', async () => {
    const world = await CommandWorld.start();
    const { platform } = world.simulated;
    world.script(...Array.from({ length: 6 }, () => ({ applied: { lateMs: 3_000 }, answer: outcomeUnknown }) as const));
    const sent: string[] = [];
    for (let i = 1; i <= 6; i += 1) {
      const terms = { ...equity.terms, qty: String(i) };
      sent.push((await world.send({ ...equity, terms })).commandId);
    }
    platform.http.down = true;
    platform.stream.down = true;
    platform.stream.faults = { ...noStreamFaults, silentLoss: 1 };
    await world.pass(20 * 60_000);

    for (const commandId of sent) {
      expect(world.landed(commandId)).toBeDefined();
      expect(world.command(commandId)).toMatchObject({ state: 'unknown', presumedAbsent: false, misses: 0 });
    }
    platform.http.down = false;
    platform.stream.down = false;
    platform.stream.faults = noStreamFaults;
    await world.until(() => sent.every((commandId) => world.command(commandId).state === 'applied'), 40 * 60_000);
    expect(world.writes).toHaveLength(6);
  });
});

describe('issue: An exchange answered "no such order" about a live order, and callers placed it again.', () => {
  const minute = 60_000;

  // What protects: presumed absent is a label: `checkPlace` (domain/command-checks.ts) counts the
  // command among the unresolved all the same.
  it.each([equity, prediction])(
    'a $stream order that no read shows for 15 minutes is presumed absent at most, frees no second one, and is its own when it appears',
    async (request) => {
      const world = await CommandWorld.start();
      world.simulated.platform.stream.faults = { ...noStreamFaults, silentLoss: 1 };
      world.script({ applied: { lateMs: 50 }, answer: outcomeUnknown });
      const { commandId } = await world.send(request);
      await world.until(() => world.ordersOf(commandId).length === 1);
      const { orderId } = world.landed(commandId).terms;
      world.reads.hidden.add(orderId);

      await world.pass(5 * minute);
      expect(world.command(commandId)).toMatchObject({ state: 'unknown', presumedAbsent: false });
      await world.pass(10 * minute);
      expect(world.command(commandId)).toMatchObject({ state: 'unknown', presumedAbsent: true });
      expect(await world.declined(request)).toBe('UNRESOLVED_PRIOR_COMMAND');

      world.reads.hidden.clear();
      await world.until(() => world.command(commandId).state === 'applied', 60 * minute);
      expect(world.command(commandId)).toMatchObject({ orderId, presumedAbsent: false });
      await world.until(() => world.service.commands.operator.halts.list().length > 0);
      expect(world.service.commands.operator.halts.list()).toMatchObject([
        { cause: 'late_landing', scope: { kind: 'account' } },
      ]);
      expect(world.writes).toHaveLength(1);
    },
  );
});

describe('issue: A command stayed unknown for good where its account had an order that cannot be read.', () => {
  // Each read of the account was unclear, and after two seconds nothing else was asked.
  it('asks for the command alone then', async () => {
    const world = await CommandWorld.start();
    const { order } = await world.working(equity);
    world.reads.garbled.add(order.terms.orderId);
    world.script({ applied: 'no', answer: outcomeUnknown });
    const { commandId } = await world.send({ ...equity, terms: { ...equity.terms, symbol: 'KO' } });
    await world.until(() => world.command(commandId).presumedAbsent, 15 * 60_000);
    expect(world.writes).toHaveLength(2);
  });

  // Each read of the account for a younger command put off the older one's own look.
  it('asks for an older one beside those of younger ones', async () => {
    const world = await CommandWorld.start();
    const { order } = await world.working(equity);
    const sendInVain = async (symbol: string) => {
      world.script({ applied: 'no', answer: outcomeUnknown });
      return (await world.send({ ...equity, terms: { ...equity.terms, symbol } })).commandId;
    };
    const older = await sendInVain('KO');
    world.simulated.platform.http.down = true;
    await world.pass(40 * 60_000);
    world.simulated.platform.http.down = false;
    world.reads.garbled.add(order.terms.orderId);
    await sendInVain('MSFT');
    await world.until(() => world.command(older).presumedAbsent, 40 * 60_000);
  });
});

describe('issue: A new order was answered with "duplicate" and was in no list, and it appeared later.', () => {
  const duplicate = answered(409, {
    error: { type: 'conflict', code: 'DUPLICATE_ORDER', message: 'Duplicate client order id' },
  });

  // What protects: the statuses of `place_order` and `isOtherConflict`
  // (venue/platform/order-writes.ts, judge-write.ts).
  it.each([equity, prediction])(
    '"duplicate" in answer to the only $stream order is no refusal: it stays unknown until the order shows',
    async (request) => {
      const world = await CommandWorld.start();
      world.simulated.platform.stream.faults = { ...noStreamFaults, silentLoss: 1 };
      world.script({ applied: { lateMs: 30_000 }, answer: duplicate });
      const { commandId, state, reason } = await world.send(request);
      expect([state, reason?.status]).toEqual(['unknown', 409]);
      await world.pass(29_000);
      expect(world.command(commandId).state).toBe('unknown');
      await world.until(() => world.command(commandId).orderId !== undefined, 120_000);
      expect(['accepted', 'applied']).toContain(world.command(commandId).state);
      expect(world.command(commandId).orderId).toBe(world.landed(commandId).terms.orderId);
      expect(world.writes).toHaveLength(1);
    },
  );
});

describe('issue: A slow replace was given up and a new order sent in its place; the venue had both orders.', () => {
  const minute = 60_000;

  // What protects: `resolveReplace` (domain/resolve-command.ts) takes a pending
  // amend for what it is, however long it lasts.
  it('a replace that stays pending for an hour is made canceled by no timer, and nothing is sent in its place', async () => {
    const world = await CommandWorld.start();
    const { order } = await world.working();
    const { commandId, replace } = await world.sendPendingReplace(order, { price: '0.45' });
    await world.pass(60 * minute);

    expect(world.stored(order)).toMatchObject({ status: 'new', pendingAction: 'replace', leavesQty: '10' });
    expect(world.command(commandId).resolvedAtMs).toBeUndefined();
    expect(world.command(commandId).seenPendingAt).toBeDefined();
    expect(await world.declined({ ...replace, terms: { price: '0.46' } })).toBe('ORDER_ACTION_PENDING');
    expect(world.writes.map(({ kind }) => kind)).toEqual(['place', 'replace']);

    acceptPending(world.exchange, order);
    await world.until(() => world.command(commandId).state === 'applied');
    expect(world.stored(order).working.price).toBe('0.45');
    expect(world.writes).toHaveLength(2);
  });
});

describe('issue: An order for 1 was replaced while 0.165 of it was filled; in the end 1.165 was filled.', () => {
  // An adapter replaced an order for 1 by cancel and new while
  // 0.165 of it was filled: 1.165 in the end.
  // What protects: `checkReplace` (domain/command-checks.ts), and a
  // replace that is one PATCH with the total.
  it('a replace while fills come in changes the total of the one order: never more than was meant is filled', async () => {
    const world = await CommandWorld.start();
    const { order } = await world.working({ ...prediction, terms: { ...prediction.terms, quantity: '1' } });
    world.simulated.platform.entered.venue.set({ answerMs: 'manual' });
    const { orderId } = order.terms;
    const replace = (terms: { quantity?: string; price?: string }): CommandRequest => ({
      kind: 'replace',
      stream: 'prediction',
      accountId: account,
      orderId,
      terms,
    });
    const { commandId } = await world.send(replace({ quantity: '1', price: '0.41' }));
    fillOrder(world.exchange, order, fixed('0.165'), fixed('0.4'));
    await world.pass(1_000);
    acceptPending(world.exchange, order);
    await world.until(() => world.command(commandId).state === 'applied');
    // The answer of that commit is on its way to the process.
    await world.pass(100);
    expect(await world.declined(replace({ quantity: '0.1' }))).toBe('QUANTITY_BELOW_FILLED');

    fillOrder(world.exchange, order, whole(1), fixed('0.41'));
    await world.until(() => world.stored(order).status === 'filled');
    expect(world.stored(order)).toMatchObject({ cumQty: '1', leavesQty: '0', quantity: '1' });
    expect(world.writes.map(({ kind, bytes }) => [kind, /"quantity":"([^"]+)"/.exec(bytes)?.[1]])).toEqual([
      ['place', '1'],
      ['replace', '1'],
    ]);
  });
});

describe('issue: A fill that only the answer to a replace showed was never booked.', () => {
  // The acknowledgement of a modify carried a higher filled quantity; it was read for the new terms
  // only, and the fill was never booked. What protects: `takeReply` (service/run/order-entry.ts):
  // an answer is an observation like any other.
  it('a fill that shows first on the answer to a replace is booked, once', async () => {
    const world = await CommandWorld.start();
    const { order } = await world.working();
    const { stream } = world.simulated.platform;
    world.simulated.platform.entered.venue.set({ answerMs: 'manual' });
    stream.faults = { ...noStreamFaults, silentLoss: 1 };
    fillOrder(world.exchange, order, whole(3), fixed('0.4'));
    const { orderId } = order.terms;
    await world.send({ kind: 'replace', stream: 'prediction', accountId: account, orderId, terms: { quantity: '20' } });
    await world.until(() => world.stored(order).cumQty === '3');
    expect(world.updates(order).at(-1)).toMatchObject({
      cause: 'reply',
      fill: { quantity: '3' },
      order: { pendingAction: 'replace' },
    });
    stream.faults = noStreamFaults;
    fillOrder(world.exchange, order, whole(1), fixed('0.4'));
    await world.until(() => world.stored(order).cumQty === '4');
    expect(fillsOf(world.updates(order))).toBe('4');
  });
});

describe("issue: A client id was used twice, and the second order's fills were booked on the first command.", () => {
  // What protects: the lookup by key (service/commands/submit-command.ts); `resolvePlace` and the
  // table of transitions (domain/) keep a place that is applied on its order, each by itself.
  it.each([equity, prediction])(
    'a key that comes again after its $stream order was filled is that command, and places nothing',
    async (request) => {
      const world = await CommandWorld.start();
      const { command, order } = await world.working(request);
      fillOrder(world.exchange, order, whole(10), fixed('0.4'));
      await world.until(() => world.stored(order).status === 'filled');
      const again = await world.submit(request, { idempotencyKey: command.idempotencyKey });
      expect(again).toMatchObject({
        kind: 'journaled',
        replayed: true,
        command: { commandId: command.commandId, state: 'applied' },
      });
      expect(world.writes).toHaveLength(1);
      // The same terms under another key are another order, with a reference of its own.
      const second = await world.send(request);
      expect(second.attempts[0]?.attemptId).not.toBe(command.attempts[0]?.attemptId);
    },
  );

  it.each([equity, prediction])(
    'a second $stream order that carries the reference of one that was filled is never taken for it',
    async (request) => {
      const world = await CommandWorld.start();
      const { command, order } = await world.working(request);
      fillOrder(world.exchange, order, whole(10), fixed('0.4'));
      await world.until(() => world.stored(order).status === 'filled');
      const terms = { ...order.terms, orderId: 'somebody-elses-order', version: 1n };
      const second = world.exchange.open(terms, 'placed elsewhere');
      acceptOrder(world.exchange, second, 'venue-2');
      fillOrder(world.exchange, second, whole(4), fixed('0.4'));
      await world.until(() => world.isStored(second) && world.stored(second).cumQty === '4');
      await world.pass(60_000);
      expect(world.command(command.commandId)).toMatchObject({ state: 'applied', orderId: order.terms.orderId });
      expect(world.stored(order).cumQty).toBe('10');
    },
  );
});

describe('issue: A cancel of a filled order got "no such order"; the bot believed it was never placed.', () => {
  // What protects: `lookAfterRefusal` (service/commands/look-at-order.ts).
  it.each([equity, prediction])(
    'a cancel that a filled $stream order refuses is moot, and the place stays what it is',
    async (request) => {
      const world = await CommandWorld.start();
      const { command, order } = await world.working(request);
      const { stream } = world.simulated.platform;
      stream.faults = { ...noStreamFaults, silentLoss: 1 };
      fillOrder(world.exchange, order, whole(10), fixed('0.4'));
      const { orderId } = order.terms;
      const cancel: CommandRequest = { kind: 'cancel', stream: request.stream, accountId: account, orderId };
      const { commandId } = await world.send(cancel);
      await world.until(() => world.command(commandId).state === 'moot');

      expect(world.command(command.commandId)).toMatchObject({ state: 'applied', orderId });
      expect(world.stored(order)).toMatchObject({ status: 'filled', cumQty: '10' });
      expect(fillsOf(world.updates(order))).toBe('10');
      expect(world.writes.map(({ kind }) => kind)).toEqual(['place', 'cancel']);
    },
  );
});

describe('issue: An order with an unknown result was written down as failed, and a rule placed it again.', () => {
  const minute = 60_000;

  // What protects: `failed` (service/run/order-entry.ts) keeps unknown apart from refused,
  // `checkPlace` counts it until a person supersedes it.
  it.each([equity, prediction])(
    'an unknown $stream order is never told as failed: a rule that tries again each minute places nothing until a person says so',
    async (request) => {
      const world = await CommandWorld.start();
      world.script({ applied: 'no', answer: outcomeUnknown });
      const { commandId } = await world.send(request);
      const told = new Set<string>();
      for (let i = 0; i < 30; i += 1) {
        told.add(world.command(commandId).state);
        expect(await world.declined(request)).toBe('UNRESOLVED_PRIOR_COMMAND');
        await world.pass(minute);
      }
      expect([...told]).toEqual(['unknown']);
      expect(world.command(commandId).presumedAbsent).toBe(true);
      expect(world.writes).toHaveLength(1);

      const second = await world.send(request, { supersedes: commandId });
      await world.until(() => world.command(second.commandId).state === 'applied');
      expect(await world.declined(request, { supersedes: commandId })).toBe('SUPERSEDED_NOT_ABSENT');
      expect(world.writes).toHaveLength(2);
    },
  );
});
