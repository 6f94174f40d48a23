import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import { measureReplace } from '../../../src/domain/measure-command.ts';
import type { Order } from '../../../src/domain/order.ts';
import { recomputeVerdict } from '../../../src/domain/recompute-verdict.ts';
import { resolveCommand } from '../../../src/domain/resolve-command.ts';
import { errorFromAnswer } from '../../../src/venue/platform/read-platform.ts';
import {
  CommandRig,
  cancelWorking,
  type EntryScript,
  placeEquity,
  placePrediction,
  type CommandRig as Rig,
  refused,
  replaceWorking,
  unknown,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';
import { account, CommandWorld } from '../../support/commands/command-world.ts';
import { cancelOf, commandOf, predictionOrder, replaceOf, updateAt } from '../../support/commands/resolving.ts';
import { outcomeUnknown } from '../../support/commands/scripted-entry.ts';
import { predictionView } from '../../support/orders/arbitrary-orders.ts';

describe('issue: A place was shown as `applied` for ever although the venue had refused its order.', () => {
  const pending = { status: 'pending_new', statusRaw: 'PENDING_NEW' } as const;
  const working = { status: 'new', statusRaw: 'NEW' } as const;
  const venueRefused = {
    status: 'rejected',
    statusRaw: 'REJECTED',
    leavesQty: '0',
    rejectReason: 'RISK',
    rejectText: 'insufficient buying power',
  } as const;

  /** A place of which only its order tells: the platform's answer was lost. */
  async function pendingPlace(
    request: CommandRequest = placePrediction,
  ): Promise<{ rig: CommandRig; commandId: string }> {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: unknown });
    const { commandId } = await rig.send(request);
    rig.land(commandId, pending);
    await rig.clock.advance(10);
    return { rig, commandId };
  }

  /** What `tidemark command show` computes from the facts. */
  function recomputed(rig: CommandRig, commandId: string) {
    const command = rig.command(commandId);
    const { stream } = command.request;
    return recomputeVerdict(
      command,
      rig.evidence(commandId),
      rig.orders.updatesAfter(stream, `of-${commandId}`, 0, 100),
    );
  }

  // Placed, pending_new, then "insufficient buying power": the command said `applied` for ever.
  describe.each([
    ['prediction', placePrediction],
    ['account', placeEquity],
  ] as const)('a place whose %s order the venue has not taken yet', (_stream, request) => {
    it('is accepted and bound: not applied, and no doubt any more', async () => {
      const { rig, commandId } = await pendingPlace(request);
      expect(rig.command(commandId)).toMatchObject({
        state: 'accepted',
        orderId: `of-${commandId}`,
        orderStatus: 'pending_new',
      });
      expect(rig.commands.status()).toMatchObject({ unresolved: 0, oldestUnresolvedMs: undefined });
      expect(recomputed(rig, commandId)).toMatchObject({ state: 'accepted', agrees: true });
    });

    it('is rejected, with the reason of the venue, once the order is', async () => {
      const { rig, commandId } = await pendingPlace(request);
      rig.commit(rig.landed(commandId, venueRefused));
      await rig.clock.advance(10);
      expect(rig.command(commandId)).toMatchObject({
        state: 'rejected',
        orderStatus: 'rejected',
        reason: { code: 'RISK', message: 'insufficient buying power' },
      });
      expect(rig.commands.operator.halts.list()).toEqual([]);
      expect(recomputed(rig, commandId)).toEqual({ state: 'rejected', because: 'venue_refused', agrees: true });
    });

    it.each([
      'new',
      'done_for_day',
      'suspended',
      'partially_filled',
      'filled',
      'canceled',
      'expired',
      'replaced',
    ] as const)('is applied once the order is %s', async (status) => {
      const { rig, commandId } = await pendingPlace(request);
      rig.commit(rig.landed(commandId, { status }));
      await rig.clock.advance(10);
      expect(rig.command(commandId)).toMatchObject({ state: 'applied', orderStatus: status });
      expect(recomputed(rig, commandId)).toMatchObject({ state: 'applied', agrees: true });
    });

    it('is applied by a fill, whatever the status says', async () => {
      for (const over of [
        { ...pending, cumQty: '1' },
        { ...venueRefused, cumQty: '1' },
        { status: 'unknown', cumQty: '1' },
      ] as const) {
        const { rig, commandId } = await pendingPlace(request);
        rig.commit(rig.landed(commandId, over));
        await rig.clock.advance(10);
        expect(rig.state(commandId)).toBe('applied');
      }
    });

    it('is not judged by a view that the platform itself is not certain of', async () => {
      const { rig, commandId } = await pendingPlace(request);
      for (const over of [working, venueRefused] as const) {
        rig.commit(rig.landed(commandId, { ...over, certainty: 'unknown_gap' }));
        await rig.clock.advance(10);
        expect(rig.state(commandId)).toBe('accepted');
      }
    });

    it('is applied when the order worked before it ended rejected, also where both are heard at once', async () => {
      const { rig, commandId } = await pendingPlace(request);
      rig.commit(rig.landed(commandId, working));
      rig.commit(rig.landed(commandId, venueRefused));
      await rig.clock.advance(10);
      expect(rig.state(commandId)).toBe('applied');
      expect(recomputed(rig, commandId)).toMatchObject({ state: 'applied', agrees: true });
    });
  });

  // An account order has one word for both: PENDING_CANCEL says nothing of the venue.
  it('a place of an account order is not applied by the request that is pending for it', async () => {
    const { rig, commandId } = await pendingPlace(placeEquity);
    rig.commit(rig.landed(commandId, { status: 'new', statusRaw: 'PENDING_CANCEL', pendingAction: 'cancel' }));
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('accepted');
    expect(recomputed(rig, commandId)).toMatchObject({ state: 'accepted', agrees: true });
    rig.commit(rig.landed(commandId, venueRefused));
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('rejected');
    expect(recomputed(rig, commandId)).toMatchObject({ state: 'rejected', agrees: true });
  });

  describe('a place that waits for the venue alone', () => {
    it('is asked about by no probe and pages nobody, however long it takes', async () => {
      const { rig, commandId } = await pendingPlace();
      const before = rig.probes.asked.length;
      await rig.clock.advance(3 * 3_600_000);
      expect(rig.probes.asked.slice(before)).toEqual([]);
      expect(rig.codes(commandId)).not.toContain('escalated');
      expect(rig.state(commandId)).toBe('accepted');
    });

    it('is no doubt that halts, and holds up no place with equal terms', async () => {
      const { rig } = await pendingPlace();
      for (const _time of [2, 3, 4]) {
        rig.entry.scripts.push({ result: unknown });
        const { commandId } = await rig.send(placePrediction);
        rig.land(commandId, pending);
        await rig.clock.advance(10);
      }
      expect(rig.commands.operator.halts.list()).toEqual([]);
    });

    it.each([
      ['took', working, 'applied'],
      ['refused', venueRefused, 'rejected'],
    ] as const)('is resolved by who takes the lane, where the venue %s it meanwhile', async (_how, over, state) => {
      const { rig, commandId } = await pendingPlace();
      rig.commands.endAll();
      rig.commit(rig.landed(commandId, over), { handed: false });
      const next = await CommandRig.leading({}, rig);
      await next.clock.advance(1_000);
      expect(rig.state(commandId)).toBe(state);
      expect(next.commands.operator.halts.list()).toEqual([]);
    });

    it('is still followed by who takes the lane, and resolved by what comes then', async () => {
      const { rig, commandId } = await pendingPlace();
      rig.commands.endAll();
      const next = await CommandRig.leading({}, rig);
      await next.clock.advance(60_000);
      expect(next.probes.asked).toEqual([]);
      next.commit(rig.landed(commandId, venueRefused));
      await next.clock.advance(10);
      expect(rig.state(commandId)).toBe('rejected');
    });

    it('is resolved from the log where a hand-over was missed', async () => {
      const { rig, commandId } = await pendingPlace();
      rig.commit(rig.landed(commandId, working), { handed: false });
      await rig.clock.advance(10);
      expect(rig.state(commandId)).toBe('applied');
    });

    it('is denied by a late answer that nothing was done: alarm and halt, and the order decides', async () => {
      const rig = await CommandRig.leading();
      rig.entry.scripts.push({ answerMs: 1_000, result: refused(400) });
      const sending = rig.commands.submit(rig.submission(placePrediction));
      await rig.clock.advance(100);
      const [commandId = ''] = rig.journal.commands.keys();
      rig.land(commandId, pending);
      expect(await rig.during(sending)).toMatchObject({ command: { state: 'accepted' } });
      await rig.clock.advance(1_000);
      expect(rig.state(commandId)).toBe('accepted');
      expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'late_landing' }]);
      rig.commit(rig.landed(commandId, working));
      await rig.clock.advance(10);
      expect(rig.state(commandId)).toBe('applied');
    });

    it('may be resolved by a person, whom only an order that works contradicts', async () => {
      const { rig, commandId } = await pendingPlace();
      await rig.during(rig.commands.operator.resolve(commandId, 'rejected', word));
      expect(recomputed(rig, commandId)).toMatchObject({ state: 'rejected', because: 'person', agrees: true });
      rig.commit(rig.landed(commandId, { ...pending, leavesQty: '10' }));
      await rig.clock.advance(10);
      expect(rig.state(commandId)).toBe('rejected');
      rig.commit(rig.landed(commandId, working));
      await rig.clock.advance(10);
      expect(rig.state(commandId)).toBe('applied');
      expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'late_landing' }]);
      expect(recomputed(rig, commandId)).toMatchObject({ state: 'applied', agrees: true });
    });
  });
});

describe('issue: A cancel ended rejected, and two seconds later the venue cancelled its order.', () => {
  // The platform's clock had been set back, so a row from before the cancel had the later time. Two
  // reads that lagged agreed on it: a correction, which shows nothing pending.
  it.each([
    ['cancel', commandOf(cancelOf(predictionOrder))],
    ['replace', commandOf(replaceOf({ price: '0.95' }))],
  ] as const)('a correction alone is no refusal of a %s; what comes behind it is', (kind, command) => {
    const pending = updateAt(6, { pendingAction: kind });
    const takenBack = { ...updateAt(7), cause: 'correction' };
    expect(resolveCommand({ command, updates: [pending, takenBack] })).not.toMatchObject({ kind: 'verdict' });
    expect(resolveCommand({ command, updates: [pending, takenBack, updateAt(8)] })).toMatchObject({
      ...{ kind: 'verdict', result: 'rejected', because: 'venue_refused' },
    });
  });
});

describe('issue: A cancel was shown as rejected after a takeover, and later it cancelled its order.', () => {
  const atVersion = { kind: 'accepted', answer: { status: 202, version: '20' } } as const;

  /**
   * Two cancels of one order: the first is accepted, of the second nobody knows whether it arrived.
   */
  async function twoCancels(rig: Rig) {
    rig.commit(workingOrder);
    rig.entry.scripts.push({ result: atVersion }, { result: unknown });
    const first = (await rig.send(cancelWorking)).commandId;
    const second = (await rig.send(cancelWorking)).commandId;
    return { first, second };
  }

  async function theFirstIsRefused(rig: Rig): Promise<void> {
    rig.commit({ ...workingOrder, pendingAction: 'cancel' });
    rig.commit({ ...workingOrder, rejectText: 'too late' });
    await rig.clock.advance(1_000);
  }

  // Whose cancel was seen pending was known in memory alone: a process that took over when one of
  // the two had long been resolved took its refusal for that of the other.
  describe('an unknown cancel beside one that was refused', () => {
    it('stays unknown when another process takes over, however long after the other was resolved', async () => {
      const rig = await CommandRig.leading();
      const { first, second } = await twoCancels(rig);
      await theFirstIsRefused(rig);
      expect([rig.state(first), rig.state(second)]).toEqual(['rejected', 'unknown']);
      await rig.clock.advance(600_000);
      rig.commands.endAll();
      const next = await CommandRig.leading({}, rig);
      await next.clock.advance(600_000);
      expect(rig.state(second)).toBe('unknown');
      // It was on its way all the time.
      next.commit({ ...workingOrder, status: 'canceled' });
      await next.clock.advance(1_000);
      expect(rig.state(second)).toBe('applied');
      expect(rig.codes(second)).toContain('rival');
    });

    it('stays unknown when the journal tells of the other only after some failures', async () => {
      const rig = await CommandRig.leading();
      const { second } = await twoCancels(rig);
      await theFirstIsRefused(rig);
      await rig.clock.advance(600_000);
      rig.commands.endAll();
      let failures = 5;
      rig.journal.hook = async (operation, transact) => {
        if (operation === 'rivals' && failures-- > 0) throw new Error('the database cannot be reached');
        return transact();
      };
      const next = await CommandRig.leading({}, rig);
      await next.clock.advance(60_000);
      expect(failures).toBeLessThanOrEqual(0);
      expect(rig.state(second)).toBe('unknown');
    });

    it('stays unknown when more commands are unresolved than fit into memory', async () => {
      const rig = await CommandRig.leading({ maxWatched: 1 });
      const { second } = await twoCancels(rig);
      await theFirstIsRefused(rig);
      await rig.clock.advance(60_000);
      expect(rig.state(second)).toBe('unknown');
    });

    it('is told apart where the platform’s word is that nothing came of the other', async () => {
      const rig = await CommandRig.leading();
      rig.commit(workingOrder);
      rig.entry.scripts.push({ result: unknown }, { result: refused(409), answerMs: 300 });
      const first = (await rig.send(cancelWorking)).commandId;
      const second = rig.commands.submit(rig.submission(cancelWorking));
      await rig.clock.advance(100);
      await theFirstIsRefused(rig);
      await rig.during(second);
      await rig.clock.advance(1_000);
      expect(rig.state(first)).toBe('rejected');
      expect(rig.codes(first)).toEqual(expect.arrayContaining(['rival', 'no_rival']));
    });
  });
});

describe('issue: An order that the platform had rejected with 400 stayed unknown, and three halted all.', () => {
  // The statuses are held by test/venue/platform/judge-write.test.ts.
  it('the words of a rejection are those of the order response', () => {
    const body = { success: false, status: 'REJECTED', text: 'Unknown symbol', ordRejReason: 'SYMBOL' };
    expect(errorFromAnswer(400, body)).toMatchObject({ code: 'SYMBOL', message: 'Unknown symbol', status: 400 });
  });

  it.each([{ success: true, text: 'fine' }, { success: false }, { text: 'no' }])('%j is no rejection', (body) => {
    expect(errorFromAnswer(400, body).message).toBe('the platform answered with status 400');
  });
});

describe('issue: After one replace got lost, every further replace of the order was answered with 409.', () => {
  const tenMinutes = 10 * 60_000;

  it.each([
    ['never seen again', false, 'unknown'],
    ['overtaken by another client', true, 'conflict'],
  ] as const)('a replace that is %s may be superseded after the wait of places', async (_what, overtaken, state) => {
    const world = await CommandWorld.start({ auditMs: 60_000 });
    const { order } = await world.working();
    const { orderId } = order.terms;
    const replace = (price: string) =>
      ({ kind: 'replace', stream: 'prediction', accountId: account, orderId, terms: { price } }) as const;
    world.script({ applied: 'no', answer: outcomeUnknown });
    const { commandId } = await world.send(replace('0.5'));
    if (overtaken)
      world.exchange.change(order, 'amended elsewhere', (it) => {
        it.workingPrice = 600_000_000_000n;
      });
    await world.until(() => world.command(commandId).state === state);
    await world.pass(60_000);
    expect(await world.declined(replace('0.45'))).toBe('ORDER_ACTION_PENDING');
    expect(await world.declined(replace('0.45'), { supersedes: commandId })).toBe('SUPERSEDED_NOT_ABSENT');
    await world.pass(tenMinutes + 120_000);
    expect(await world.declined(replace('0.45')), 'never by itself').toBe('ORDER_ACTION_PENDING');
    const next = await world.send(replace('0.45'), { supersedes: commandId });
    await world.until(() => world.command(next.commandId).state === 'applied');
    await world.pass(60_000);
    expect(world.command(commandId).state, 'the new terms are those of the other one').toBe(state);
    expect(await world.declined(replace('0.44'))).toBe('ORDER_ACTION_PENDING');
    await world.send(replace('0.44'), { supersedes: commandId });
  });
});

describe('issue: A replace passed a limit of 100 and the order was bought for 260.', () => {
  /** 200 at 0.9, of which some are bought. */
  const order: Order = {
    ...predictionView,
    quantity: '200',
    price: '0.9',
    working: { quantity: '200', price: '0.9', orderType: 'limit' },
    leavesQty: '200',
    origin: 'external',
  };
  const half: Order = { ...order, status: 'partially_filled', cumQty: '100', leavesQty: '100', avgPrice: '0.9' };

  function measured(of: Order, terms: { quantity?: string; price?: string }) {
    const { orderId, accountId } = of;
    return measureReplace({ kind: 'replace', stream: 'prediction', accountId, orderId, terms }, of);
  }

  describe('the value of a replace', () => {
    it('has the old terms in it, on which the order works until the venue grants the new ones', () => {
      // All 200 at 0.9, and then 800 at 0.1.
      expect(measured(order, { quantity: '1000', price: '0.1' })).toMatchObject({ notional: '260', exposure: '80' });
    });

    it('has in it what a replace asked that it supersedes, which may still land', () => {
      const { orderId, accountId } = order;
      const of = (terms: object, released: readonly object[]) =>
        measureReplace({ kind: 'replace', stream: 'prediction', accountId, orderId, terms }, order, released);
      // All 1,000 at 0.95 in the end; of that the superseded one counts 720 already.
      expect(of({ price: '0.95' }, [{ quantity: '1000' }])).toMatchObject({
        ...{ quantity: '1000', notional: '950', exposure: '50' },
      });
      expect(of({ quantity: '1000' }, [{ price: '0.95' }])).toMatchObject({ quantity: '1000', notional: '950' });
      expect(of({ price: '0.95', quantity: '300' }, [{ quantity: '1000' }])).toMatchObject({
        ...{ quantity: '300', notional: '285' },
      });
      expect(of({ price: '0.95' }, [{ quantity: '100' }])).toEqual(of({ price: '0.95' }, []));
    });

    it('has what was paid already in it, and not at the new price', () => {
      // 90 were paid; 100 more at 0.9, and 800 at 0.1.
      expect(measured(half, { quantity: '1000', price: '0.1' })).toMatchObject({ notional: '260', exposure: '80' });
      // 90 were paid; the whole rest at the new price is more.
      expect(measured(half, { price: '0.95' })).toMatchObject({ notional: '185', exposure: '5' });
      expect(measured(half, { quantity: '150', price: '0.99' })).not.toHaveProperty('notional');
    });

    it('takes fills without a price at the most that a contract can be worth', () => {
      const { avgPrice: _none, ...unpriced } = half;
      expect(measured(unpriced, { quantity: '300' })).toMatchObject({ notional: '280', exposure: '90' });
    });

    it('is compared with no bound where nothing rises', () => {
      for (const terms of [{ price: '0.1' }, { quantity: '100' }, { quantity: '200', price: '0.9' }]) {
        expect(measured(half, terms)).toMatchObject({ exposure: '0' });
        expect(measured(half, terms)).not.toHaveProperty('notional');
      }
    });

    it('has no bound in a price of an order without a limit: a stop buys at the market', () => {
      const stop: Order = {
        ...order,
        orderType: 'stop',
        stopPrice: '0.5',
        working: { quantity: '200', orderType: 'stop' },
      };
      expect(measured(stop, { quantity: '1000', price: '0.01' })).toMatchObject({ notional: '1000' });
      // One that was touched is a limit order.
      const touched: Order = { ...stop, orderType: 'stop_limit', working: { ...order.working, orderType: 'limit' } };
      expect(measured(touched, { quantity: '300' })).toMatchObject({ notional: '270' });
    });
  });
});

describe('issue: A replace was rejected by the answer to the one before it, and then took effect.', () => {
  const replace = (price: string) => ({ ...replaceWorking, terms: { price } });

  // Both answers were lost, so the pending replace that the order shows may be either.
  it.each([
    ['the old terms', workingOrder, false],
    ['the old terms', workingOrder, true],
    ['the terms of that one', { ...workingOrder, working: { ...workingOrder.working, price: '0.5' } }, false],
  ] as const)(
    'a replace is not resolved by %s after the one that it supersedes (taken over: %#)',
    async (_, late, moves) => {
      let rig = await CommandRig.leading();
      rig.commit(workingOrder);
      rig.entry.scripts.push({ result: unknown }, { result: unknown });
      const { commandId: before } = await rig.send(replace('0.5'));
      await rig.clock.advance(20 * 60_000);
      const { commandId: next } = await rig.send(replace('0.45'), { supersedes: before });
      if (moves) {
        rig.commands.endAll();
        rig = await CommandRig.leading({}, rig);
      }
      rig.commit({ ...workingOrder, pendingAction: 'replace' }, { handed: false });
      rig.commit(late, { handed: false });
      await rig.clock.advance(1_000);
      expect(rig.state(next)).toBe('unknown');
      rig.commit({ ...workingOrder, working: { ...workingOrder.working, price: '0.45' } });
      await rig.clock.advance(1_000);
      expect(rig.state(next)).toBe('applied');
    },
  );
});

describe('issue: After a superseding place had failed, an order with the same terms was declined for ever.', () => {
  const nowhere: EntryScript = {
    connect: {
      result: { kind: 'not_sent', reason: { code: 'NO_CONNECTION', message: 'nobody listens' }, mayRepeat: false },
    },
    result: unknown,
  };

  // Found in review: a place that superseded a presumed absent one and came to nothing used up the
  // release. The first could not be named again, the second not at all, and who named nobody was
  // told of the first: those terms could never be placed again.
  it.each([
    ['not_sent', nowhere],
    ['refused', { result: refused(400) }],
  ] as const)(
    'a presumed absent place can be superseded again behind a successor that ended %s, and only then',
    async (end, script) => {
      const rig = await CommandRig.leading();
      rig.entry.scripts.push({ result: unknown });
      const { commandId } = await rig.send(placeEquity);
      await rig.clock.advance(15 * 60_000);
      rig.entry.scripts.push(script);
      expect(await rig.send(placeEquity, { supersedes: commandId })).toMatchObject({ state: end });
      const writes = rig.entry.sent.length;
      rig.entry.scripts.push({ result: unknown });
      const next = await rig.send(placeEquity, { supersedes: commandId });
      expect(next).toMatchObject({ state: 'unknown', supersedes: commandId });
      expect(rig.entry.sent).toHaveLength(writes + 1);
      expect(await rig.declined(placeEquity, { supersedes: commandId })).toBe('UNRESOLVED_PRIOR_COMMAND');
      expect(await rig.declined(placeEquity)).toBe('UNRESOLVED_PRIOR_COMMAND');
    },
  );
});

describe('issue: A replace that was given up as lost was shown as rejected, and then it took effect.', () => {
  const replace = (price: string) => ({ ...replaceWorking, terms: { price } });
  const accepted = { kind: 'accepted', answer: { status: 202, version: '20' } } as const;

  // The order shows one replace at a time, and the one that superseded the other is what it shows.
  it.each([false, true])(
    'a replace that another one superseded is not resolved by it, taken over: %s',
    async (moves) => {
      let rig = await CommandRig.leading();
      rig.commit(workingOrder);
      rig.entry.scripts.push({ result: unknown }, { result: accepted });
      const { commandId: lost } = await rig.send(replace('0.5'));
      await rig.clock.advance(20 * 60_000);
      expect(rig.command(lost)).toMatchObject({ state: 'unknown', presumedAbsent: true });
      const { commandId: next } = await rig.send(replace('0.45'), { supersedes: lost });
      if (moves) {
        rig.commands.endAll();
        rig = await CommandRig.leading({}, rig);
      }
      rig.commit({ ...workingOrder, pendingAction: 'replace' });
      rig.commit({ ...workingOrder, rejectText: 'outside the band' });
      await rig.clock.advance(1_000);
      expect([rig.state(lost), rig.state(next)]).toEqual(['unknown', 'rejected']);
      // It was on its way all the time.
      rig.commit({ ...workingOrder, working: { ...workingOrder.working, price: '0.5' } });
      await rig.clock.advance(1_000);
      expect(rig.state(lost)).toBe('applied');
    },
  );
});

describe('issue: A place that had been found at work was shown as applied for the reason HTTP_504.', () => {
  const unanswered = { kind: 'unknown', reason: { code: 'HTTP_504', message: 'no', status: 504 } } as const;

  it('a command that is applied has no reason of a fault; its attempt and its evidence keep it', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: unanswered });
    const { commandId } = await rig.send(placeEquity);
    expect(rig.command(commandId)).toMatchObject({ state: 'unknown', reason: { code: 'HTTP_504' } });
    rig.land(commandId);
    await rig.clock.advance(10);
    const { state, reason, attempts } = rig.command(commandId);
    expect([state, reason]).toEqual(['applied', undefined]);
    expect(attempts).toMatchObject([{ state: 'unknown', reason: { code: 'HTTP_504', status: 504 } }]);
    expect(rig.evidence(commandId)).toContainEqual(
      expect.objectContaining({
        kind: 'answer',
        detail: expect.objectContaining({ reason: expect.objectContaining({ code: 'HTTP_504' }) }),
      }),
    );
  });

  it('a step in the same state keeps the reason, and the word of a person is one', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: unanswered });
    const { commandId } = await rig.send(placeEquity);
    await rig.clock.advance(600_000);
    expect(rig.command(commandId)).toMatchObject({ state: 'unknown', reason: { code: 'HTTP_504' } });
    await rig.during(rig.commands.operator.resolve(commandId, 'applied', word));
    expect(rig.command(commandId)).toMatchObject({ state: 'applied', reason: { code: 'RESOLVED_BY_PERSON' } });
  });
});
