import { describe, expect, it } from 'vitest';
import { parsePlaceAccount, parsePlacePrediction } from '../../../src/contract/command-bodies.ts';
import type { CommandRequest } from '../../../src/domain/command.ts';
import type { Bounds } from '../../../src/domain/limits.ts';
import type { ExchangeOrder, OrderTerms } from '../../../src/sandbox/exchange/exchange-order.ts';
import { acceptOrder, cancelOrder, fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import type { CancelAllScope } from '../../../src/service/commands/commands.ts';
import { orderRequest, predictionOrderRequest } from '../../../src/venue/platform/wire/order-writes.ts';
import {
  CommandRig,
  cancelWorking,
  failedLook,
  placeEquity,
  placePrediction,
  replaceWorking,
  unknown,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';
import { account, CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';
import { outcomeUnknown } from '../../support/commands/scripted-entry.ts';

describe('issue: A simulated account was told LIMITS_REQUIRED, which only a real account needs.', () => {
  /** The account is given away between the checks of a command and its judgement. */
  async function leftMeanwhile(options: ConstructorParameters<typeof CommandRig>[0] = {}) {
    const rig = await CommandRig.leading(options);
    rig.commit(workingOrder);
    const leave = () => {
      rig.probes.now = { ...rig.probes.now, known: false };
    };
    rig.journal.hook = async (operation, transact) => {
      const result = await transact();
      if (operation === 'readOrder') leave();
      return result;
    };
    return { rig, leave };
  }

  describe('an account that leaves its process', () => {
    it.each([[[]], [['acct-1']]])(
      'while the order of a replace is read: the refusal is that of an account which is not here (%j may be traded)',
      async (accounts) => {
        const { rig } = await leftMeanwhile({ accounts });
        expect(await rig.declined(replaceWorking)).toBe('ACCOUNT_NOT_FOUND');
        expect(rig.journal.commands.size).toBe(0);
      },
    );

    it('gives the budget back what a replace took that was never judged', async () => {
      const { rig } = await leftMeanwhile({ rate: { perSecond: 0.001, burst: 1 } } as never);
      expect(await rig.declined(replaceWorking)).toBe('ACCOUNT_NOT_FOUND');
      rig.journal.hook = async (_operation, transact) => transact();
      rig.probes.now = { ...rig.probes.now, known: true };
      expect((await rig.send(replaceWorking)).state).toBe('accepted');
    });

    it('while a quote is read: the preview says the same', async () => {
      const { rig, leave } = await leftMeanwhile();
      rig.quotes.lastQuote = async () => {
        leave();
        return undefined;
      };
      const preview = await rig.during(
        rig.commands.preview({ request: placeEquity, principal: 'desk', requestId: 'r' }),
      );
      expect(preview).toMatchObject({ kind: 'declined', code: 'ACCOUNT_NOT_FOUND' });
    });

    it('has its cancels wait where it was named as one that may be traded: no login can send one', async () => {
      const { rig } = await leftMeanwhile({ accounts: ['acct-1'] });
      expect(await rig.declined(cancelWorking)).toBe('SOURCE_NOT_LIVE');
      rig.journal.hook = async (_operation, transact) => transact();
      rig.probes.now = { ...rig.probes.now, known: true };
      expect((await rig.send(cancelWorking)).state).toBe('accepted');
    });
  });
});

describe("issue: A stranger's order got the id of our filled one, and our cancel-all cancelled it.", () => {
  const word = { by: 'on-call', reason: 'a test', requestId: 'r-1' };
  const onlyOf = (principal: string) => ({ kind: 'account', accountId: account, only: { principal } }) as const;

  /** Our order has ended, as we know, and its id is given to an order of another application. */
  function givenAway({ exchange }: CommandWorld, before: ExchangeOrder): ExchangeOrder {
    exchange.forget(before);
    const { clientOrderRef: _ours, ...terms } = before.terms;
    const reference = terms.stream === 'prediction' ? { clientOrderRef: 'app-77' } : {};
    const next = exchange.open({ ...terms, ...reference, clOrdId: 'app-77', quantity: fixed('500') }, 'placed');
    acceptOrder(exchange, next, 'venue-9');
    return next;
  }

  async function filled(request: typeof equity | typeof prediction) {
    const world = await CommandWorld.start();
    const { command, order } = await world.working(request);
    fillOrder(world.exchange, order, order.workingQuantity, fixed('0.4'));
    await world.until(() => world.stored(order).status === 'filled');
    // Another reference, and another creation: the platform's clock goes on.
    await world.pass(1_000);
    world.simulated.platform.reused.add(`${request.stream}:${order.terms.orderId}`);
    return { world, command, order };
  }

  async function cancelAll(world: CommandWorld, scope: CancelAllScope, key: string) {
    const asked = world.service.commands.cancelAll(scope, { ...word, idempotencyKey: key });
    let isOver = false;
    void asked.finally(() => {
      isOver = true;
    });
    await world.until(() => isOver);
    return asked;
  }

  const cancels = ({ writes }: CommandWorld) => writes.filter(({ kind }) => kind === 'cancel').length;

  describe.each([equity, prediction])('the id of an order of ours, given to a stranger: $stream', (request) => {
    it('is another order, which owns nothing of ours, and our command keeps its verdict', async () => {
      const { world, command, order } = await filled(request);
      const resolved = world.command(command.commandId);
      const next = givenAway(world, order);
      await world.until(() => world.stored(next).incarnation === 2);
      expect(world.stored(next)).toMatchObject({ origin: 'external', status: 'new', quantity: '500', cumQty: '0' });
      expect(world.stored(next).commandId).toBeUndefined();
      const updates = world.updates(next);
      expect(updates.map(({ revision }) => revision)).toEqual(updates.map((_, at) => at + 1));
      expect(updates.at(-2)).toMatchObject({ order: { status: 'filled', commandId: command.commandId } });
      cancelOrder(world.exchange, next);
      await world.until(() => world.stored(next).status === 'canceled');
      await world.pass(5_000);
      expect(world.command(command.commandId)).toEqual(resolved);
      expect(world.simulated.journal.halts).toEqual([]);
    });

    it('meets no cancel of a cancel-all of our principal, before and after it is confirmed', async () => {
      const { world, order } = await filled(request);
      const next = givenAway(world, order);
      await world.pass(300);
      expect(world.stored(next).incarnation).toBeUndefined();
      const early = await cancelAll(world, onlyOf('desk'), 'early');
      expect(early).toMatchObject({ kind: 'done', orders: [], open: true, unread: [{ code: 'UNCERTAIN' }] });
      await world.until(() => world.stored(next).incarnation === 2);
      const late = await cancelAll(world, onlyOf('desk'), 'late');
      expect(late).toMatchObject({ kind: 'done', orders: [], open: false });
      expect(cancels(world)).toBe(0);
    });

    it('is cancelled where the whole account is, and by whoever names it', async () => {
      const { world, order } = await filled(request);
      const next = givenAway(world, order);
      await world.pass(300);
      const scope = { kind: 'account', accountId: account } as const;
      await cancelAll(world, scope, 'all');
      await world.until(() => next.state === 'canceled');
      expect(cancels(world)).toBe(1);
      await world.until(() => world.stored(next).incarnation === 2 && world.stored(next).status === 'canceled');
    });
  });

  describe.each([equity, prediction])('an id that was used before, given to our place: $stream', (request) => {
    it('is bound to the order of ours, and resolves it', async () => {
      const { world, command: first, order } = await filled(request);
      world.exchange.forget(order);
      const open = world.exchange.open.bind(world.exchange);
      world.exchange.open = (terms, ...rest) => open({ ...terms, orderId: order.terms.orderId }, ...rest);
      const { commandId } = await world.send({ ...request }, { idempotencyKey: 'again', principal: 'algo' });
      await world.until(() => world.command(commandId).state === 'applied');
      expect(world.command(commandId).orderId).toBe(order.terms.orderId);
      expect(world.stored(order)).toMatchObject({ commandId, incarnation: 2, status: 'new', origin: 'tidemark' });
      expect(world.command(first.commandId)).toMatchObject({ state: 'applied', orderId: order.terms.orderId });
      await cancelAll(world, onlyOf('desk'), 'desk');
      expect(cancels(world)).toBe(0);
      await cancelAll(world, onlyOf('algo'), 'algo');
      await world.until(() => world.stored(order).status === 'canceled');
      expect(cancels(world)).toBe(1);
    });
  });
});

describe('issue: An unknown order that was placed again in another spelling (`usd`) was sent a second time.', () => {
  const equity = {
    accountId: 'acct-1',
    symbol: 'AAPL',
    side: 'BUY',
    type: 'LIMIT',
    qty: '3',
    price: '1.5',
    timeInForce: 'GTC',
  };
  const prediction = {
    ...{
      accountId: 'acct-1',
      symbol: 'FED-CUT-DEC26',
      outcome: 'YES',
      side: 'buy',
      orderType: 'limit',
      quantity: '10',
    },
    ...{ price: '0.11', timeInForce: 'gtd', expireTime: '2026-12-20T00:00:00Z' },
  };
  const [call200, call220] = ['C00200000', 'C00220000'].map((strike) => ({
    ...{ symbol: `AAPL261218${strike}`, side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' },
  }));
  const options = { ...equity, legs: [call200, call220] };

  function placeOf(body: object): CommandRequest {
    const isEquity = 'qty' in body;
    const parsed = isEquity ? parsePlaceAccount(body) : parsePlacePrediction(body);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
    const { accountId, terms } = parsed;
    return { kind: 'place', stream: isEquity ? 'account' : 'prediction', accountId, terms } as CommandRequest;
  }

  /** As the writer orders the fields. */
  function orderedOf(request: CommandRequest): object {
    const shape = request.stream === 'account' ? orderRequest : predictionOrderRequest;
    const terms = request.kind === 'place' ? request.terms : {};
    return shape.parse({ ...terms, accountId: request.accountId });
  }

  const spellings: readonly (readonly [string, object, object])[] = [
    ['the currency of the platform', equity, { currency: 'USD' }],
    ['it in small letters', equity, { currency: 'usd' }],
    ['an empty currency', equity, { currency: '' }],
    ['no currency, as null', equity, { currency: null }],
    ['an empty destination', equity, { exDestination: '' }],
    ['no destination, as null', equity, { exDestination: null }],
    ['a destination in small letters', { ...equity, exDestination: 'SMART' }, { exDestination: 'smart' }],
    ['zeros behind the point', equity, { qty: '3.000', price: '1.50' }],
    ['a symbol in small letters', equity, { symbol: ' aapl ' }],
    ['no legs, as an empty list', equity, { legs: [] }],
    ['no legs, as null', equity, { legs: null }],
    ['a padded option', options, { legs: [{ ...call200, symbol: 'AAPL  261218C00200000' }, call220] }],
    ['an option of the quotes', options, { legs: [{ ...call200, symbol: 'O:aapl261218c00200000' }, call220] }],
    ['legs in another order', options, { legs: [call220, { ...call200, ratioQty: '1.0' }] }],
    ['an expiry with a fraction', prediction, { expireTime: '2026-12-20T00:00:00.000Z' }],
    ['an expiry of another zone', prediction, { expireTime: '2026-12-20T01:00:00+01:00' }],
    ['an expiry without a minute of difference', prediction, { expireTime: '2026-12-19T19:00:00.0-05:00' }],
  ];

  /**
   * While the first try was unknown, `currency` "usd" after none was sent as a second order; a gtd
   * order passed the window of duplicates by each spelling of its expiry.
   */
  describe('an order that is spelled in another way', () => {
    it.each(spellings)('is not placed while the result of the first is unknown: %s', async (_what, base, over) => {
      const rig = await CommandRig.leading({});
      rig.entry.scripts.push({ result: unknown });
      expect((await rig.send(placeOf(base))).state).toBe('unknown');
      expect(await rig.declined(placeOf({ ...base, ...over }))).toBe('UNRESOLVED_PRIOR_COMMAND');
      expect(rig.entry.sent).toHaveLength(1);
    });

    // Which spelling of a share class the platform takes, a caller may find out by trying.
    it.each(['BRK.B', 'brk-b', 'BRKB'])(
      'is not placed while the result of the first is unknown: the class BRK/B as %s',
      async (symbol) => {
        const rig = await CommandRig.leading({});
        rig.entry.scripts.push({ result: unknown });
        await rig.send(placeOf({ ...equity, symbol: 'BRK/B' }));
        expect(await rig.declined(placeOf({ ...equity, symbol }))).toBe('UNRESOLVED_PRIOR_COMMAND');
        const market = { ...prediction, symbol: 'TEMP-B70.5' };
        rig.entry.scripts.push({ result: unknown });
        await rig.send(placeOf(market));
        expect((await rig.send(placeOf({ ...market, symbol: 'TEMP-B705' }))).state, 'another market').toBe('accepted');
      },
    );

    it.each(spellings)('is the same request under its key, with the same bytes: %s', async (_what, base, over) => {
      const rig = await CommandRig.leading({});
      const first = placeOf(base);
      const again = placeOf({ ...base, ...over });
      const { commandId } = await rig.send(first, { idempotencyKey: 'k-1' });
      expect(await rig.submit(again, { idempotencyKey: 'k-1' })).toMatchObject({
        replayed: true,
        command: { commandId },
      });
      expect(JSON.stringify(orderedOf(again))).toBe(JSON.stringify(orderedOf(first)));
    });

    it('is refused within the window of duplicates', async () => {
      const rig = await CommandRig.leading({});
      const { by, reason, requestId } = word;
      await rig.journal.changeLimits({
        before: {},
        bounds: { duplicateWindowMs: 60_000 },
        by,
        reason,
        requestId,
        atMs: rig.clock.nowMs(),
      });
      await rig.send(placeOf(prediction));
      for (const [, base, over] of spellings.filter(([, each]) => each === prediction))
        expect(await rig.submit(placeOf({ ...base, ...over }))).toMatchObject({
          breach: { limit: 'duplicateWindowMs' },
        });
      expect(rig.entry.sent).toHaveLength(1);
    });
  });
});

describe('issue: A caller could find out which order ids other accounts have, by trying to cancel them.', () => {
  const foreign = '0b8f6c1e-3f5e-4a55-9d0a-7c1b2f3a4d5e';
  const missing = '5d4a3f2b-1c7a-4a0d-955a-4a5e3f1e6c0b';
  const away = failedLook('away');

  // A known order of another account was answered 404 at once, and a
  // random id otherwise: ids could be tried.
  it.each([
    ['shows neither', undefined],
    ['can not be read', away],
  ])(
    'an order of another account is answered like one that does not exist while the platform %s',
    async (_what, answer) => {
      const rig = await CommandRig.leading();
      if (answer !== undefined) rig.probes.answer = () => answer;
      rig.commit({ ...workingOrder, orderId: foreign, accountId: 'acct-2' });
      for (const request of [cancelWorking, replaceWorking])
        for (const over of [{}, { ifRevision: 1 }]) {
          const told = [];
          for (const orderId of [foreign, missing]) {
            const readBefore = rig.probes.asked.length;
            const beganMs = rig.clock.monotonicMs();
            const result = await rig.submit({ ...request, orderId }, over);
            told.push([result, rig.probes.asked.length - readBefore, rig.clock.monotonicMs() - beganMs]);
          }
          expect(told[0]).toEqual(told[1]);
          expect(told[0]?.[0]).toMatchObject({ kind: 'declined' });
        }
      expect(rig.entry.sent).toEqual([]);
    },
  );
});

describe('issue: A market order for 999999999999999999 shares was sent to the venue and applied.', () => {
  const everything: CommandRequest = {
    kind: 'place',
    stream: 'account',
    accountId: 'acct-1',
    terms: { symbol: 'AAPL', side: 'BUY', type: 'MARKET', qty: '999999999999999999', timeInForce: 'DAY' },
  };

  async function limited(bounds: Bounds, options = {}): Promise<CommandRig> {
    const rig = await CommandRig.leading(options);
    const { by, reason, requestId } = word;
    await rig.journal.changeLimits({ before: {}, bounds, by, reason, requestId, atMs: rig.clock.nowMs() });
    return rig;
  }

  /**
   * Commands held an order to the platform's grammar and to its rate, and to nothing else: a market
   * order for 999999999999999999 shares was sent and applied.
   */
  describe('a market order for more than there is', () => {
    it('is refused by a limit of quantity, with limit, value and bound, and nothing is journaled or sent', async () => {
      const rig = await limited({ maxQuantity: '1000' });
      expect(await rig.submit(everything)).toEqual({
        kind: 'declined',
        code: 'LIMIT_EXCEEDED',
        message: 'the limit maxQuantity is 1000, and with this command it would be 999999999999999999',
        breach: { limit: 'maxQuantity', bound: '1000', value: '999999999999999999' },
      });
      expect([rig.journal.commands.size, rig.entry.sent.length, rig.quotes.asked.length]).toEqual([0, 0, 0]);
      expect(rig.commands.placeBudget.allowance('acct-1').remaining).toBe(40);
    });

    it('is valued by the last quote, and refused where there is none that is fresh', async () => {
      const rig = await limited({ maxNotional: '1000000' });
      expect(await rig.declined(everything)).toBe('LIMIT_NOT_EVALUATED');
      rig.quotes.now = { price: '191.5', ageMs: 10_001 };
      expect(await rig.declined(everything)).toBe('LIMIT_NOT_EVALUATED');
      rig.quotes.now = { price: '191.5', ageMs: 300 };
      expect(await rig.submit(everything)).toMatchObject({
        code: 'LIMIT_EXCEEDED',
        breach: { limit: 'maxNotional', value: '191499999999999999808.5' },
      });
      const small = { ...everything, terms: { ...everything.terms, qty: '5' } } as CommandRequest;
      await rig.send(small);
      expect(rig.quotes.asked).toEqual(Array(4).fill({ kind: 'equity', symbol: 'AAPL' }));
    });

    it('is refused on a real account that has no limits, and the refusal says what to run; a cancel passes', async () => {
      const rig = await CommandRig.leading({ accounts: ['acct-1'] });
      rig.probes.now = { known: true, live: true, isSim: false, certain: true, notEnrolled: false };
      rig.commit(workingOrder);
      const refused = await rig.submit(everything);
      expect(refused).toMatchObject({ kind: 'declined', code: 'LIMITS_REQUIRED' });
      expect('message' in refused && refused.message).toContain('tidemark limits set --account acct-1');
      await rig.send(cancelWorking);
    });
  });

  describe('limits', () => {
    it('ask for no quote where no limit needs one, and read it once where one does', async () => {
      const rig = await limited({ maxNotional: '2000' });
      await rig.send(placeEquity);
      expect(rig.quotes.asked).toEqual([]);
      await rig.send(placePrediction);
    });

    it('hold prices to the collar around the quote', async () => {
      const rig = await limited({ collarPercent: '5' });
      rig.quotes.now = { price: '200', ageMs: 0 };
      await rig.send({ ...placeEquity, terms: { ...placeEquity.terms, price: '210' } });
      const far = { ...placeEquity, terms: { ...placeEquity.terms, price: '210.01' } };
      expect(await rig.submit(far)).toMatchObject({ breach: { limit: 'collarPercent', bound: '5', value: '5.005' } });
      expect(await rig.declined(placePrediction)).toBe('LIMIT_NOT_EVALUATED');
    });

    it('value several legs by the quote of each, and refuse where one is missing', async () => {
      const rig = await limited({ maxNotional: '5000' });
      const legs = ['C00200000', 'C00220000'].map((strike) => ({
        ...{ symbol: `AAPL261218${strike}`, side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' },
      }));
      const { price: _price, ...terms } = { ...placeEquity.terms, type: 'STOP', qty: '50', stopPrice: '0.01', legs };
      const stop: CommandRequest = { ...placeEquity, terms };
      expect(await rig.declined(stop)).toBe('LIMIT_NOT_EVALUATED');
      rig.quotes.now = { price: '16', ask: '16.29', ageMs: 300 };
      expect(await rig.submit(stop)).toMatchObject({ code: 'LIMIT_EXCEEDED', breach: { value: '162900' } });
      expect(rig.quotes.asked).toEqual([...legs, ...legs].map(({ symbol }) => ({ kind: 'option', symbol })));
      expect(rig.entry.sent).toEqual([]);
      await rig.send({ ...stop, terms: { ...terms, qty: '1' } });
    });

    it('hold a replace to its new total, and one that raises nothing to none', async () => {
      const rig = await limited({ maxQuantity: '10', maxNotional: '4' });
      rig.commit(workingOrder);
      expect(await rig.submit({ ...replaceWorking, terms: { quantity: '11' } })).toMatchObject({
        breach: { limit: 'maxQuantity' },
      });
      expect(await rig.submit(replaceWorking)).toMatchObject({ breach: { limit: 'maxNotional', value: '5' } });
      await rig.send({ ...replaceWorking, terms: { quantity: '9' } });
    });
  });
});

describe('issue: A venue showed orders under another symbol: their places were in conflict for good.', () => {
  type Named = Partial<OrderTerms>;

  /** The venue's books have the order under other names than it was placed with. */
  function renaming({ exchange }: CommandWorld, over: Named): void {
    const open = exchange.open.bind(exchange);
    exchange.open = (terms, ...rest) => open({ ...terms, ...over }, ...rest);
  }

  const brk = { ...equity, terms: { ...equity.terms, symbol: 'BRK/B' } } as const;
  const occ = 'AAPL261218C00200000';

  // `conflict` for good: three of them halted the account, and a cancel-all of the principal sent
  // no cancel for three live orders.
  describe('an order that carries our reference is ours, whatever it is called', () => {
    it.each<[string, typeof equity | typeof prediction | typeof brk, Named]>([
      ['another spelling of the symbol', brk, { symbol: 'BRK.B' }],
      ['a symbol that was renamed', equity, { symbol: 'META' }],
      [
        'an option under its OCC symbol',
        equity,
        { symbol: occ, legs: [{ symbol: occ, side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' }] },
      ],
      ['another word for the side', equity, { side: 'BUY_TO_COVER' }],
      ['a prediction market that was renamed', prediction, { symbol: 'FED-CUT-2' }],
      ['another outcome', prediction, { outcome: 'NO' }],
    ])('%s', async (_what, request, over) => {
      const world = await CommandWorld.start();
      renaming(world, over);
      const answered = await world.working(request);
      world.script({ applied: 'yes', answer: outcomeUnknown });
      const lost = await world.send(request, { idempotencyKey: 'lost' });
      await world.until(() => world.command(lost.commandId).state === 'applied');
      for (const { commandId } of [answered.command, lost]) {
        const { orderId } = world.landed(commandId).terms;
        expect(world.command(commandId)).toMatchObject({ state: 'applied', orderId });
        expect(world.stored(world.landed(commandId))).toMatchObject({ origin: 'tidemark', commandId });
        const landed = world.simulated.journal.evidence.get(commandId)?.find(({ code }) => code === 'landed');
        expect(landed?.detail['differs']).toContain(Object.keys(over)[0]);
      }
      expect([...world.simulated.journal.halts.values()]).toEqual([]);
    });

    it('of another side, it is not', async () => {
      const world = await CommandWorld.start();
      renaming(world, { side: 'SELL' });
      world.script({ applied: 'yes', answer: outcomeUnknown });
      const { commandId } = await world.send(equity);
      await world.until(() => world.command(commandId).state === 'conflict');
      expect(world.stored(world.landed(commandId)).origin).toBe('external');
    });
  });

  describe('a second order with our reference', () => {
    const successorOf = (world: CommandWorld, orderId: string) => {
      const elder = world.exchange.orders.get(orderId);
      if (elder === undefined) throw new Error('no elder');
      const next = world.exchange.open({ ...elder.terms, orderId: `${orderId.slice(0, -4)}abcd` }, 'amended elsewhere');
      acceptOrder(world.exchange, next, 'venue-2');
      return { elder, next };
    };

    it('is the successor of an order that ended replaced, and no alarm', async () => {
      const world = await CommandWorld.start();
      const { command, order } = await world.working(equity);
      world.exchange.change(order, 'replaced', (it) => {
        it.state = 'replaced';
      });
      const { next } = successorOf(world, order.terms.orderId);
      await world.until(() => world.isStored(next) && world.stored(next).status === 'new');
      await world.pass(10_000);
      expect(world.stored(next)).toMatchObject({ origin: 'tidemark', commandId: command.commandId });
      expect(world.command(command.commandId).state).toBe('applied');
      expect(world.evidenceCodes(command.commandId)).toContain('successor');
      expect(world.evidenceCodes(command.commandId)).not.toContain('second_order');
    });

    it('is its successor too where it is seen before its elder ends', async () => {
      const world = await CommandWorld.start();
      const { command, order } = await world.working(equity);
      const { next } = successorOf(world, order.terms.orderId);
      world.exchange.change(order, 'replaced', (it) => {
        it.state = 'replaced';
      });
      await world.until(() => world.isStored(next) && world.stored(order).status === 'replaced');
      await world.pass(10_000);
      expect(world.evidenceCodes(command.commandId)).toContain('successor');
      expect(world.evidenceCodes(command.commandId)).not.toContain('second_order');
    });

    it('calls a person where its elder works on, or was filled', async () => {
      for (const ends of [false, true]) {
        const world = await CommandWorld.start();
        const { command, order } = await world.working(equity);
        if (ends) fillOrder(world.exchange, order, whole(10), fixed('1'));
        successorOf(world, order.terms.orderId);
        await world.pass(20_000);
        expect(world.evidenceCodes(command.commandId)).toContain('second_order');
      }
    });
  });
});
