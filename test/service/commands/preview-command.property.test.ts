import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import type { Bounds } from '../../../src/domain/limits.ts';
import type { Order } from '../../../src/domain/order.ts';
import {
  CommandRig,
  placeEquity,
  placePrediction,
  replaceWorking,
  unknown,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';
import { equityView } from '../../support/orders/arbitrary-orders.ts';

type Previewed = Exclude<CommandRequest, { kind: 'cancel' }>;

/** Each bound alone is rare: mostly one or two of them hold. */
const some = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
const amount = fc.integer({ min: 1, max: 4_000 }).map(String);

const bounds = fc
  .record({
    maxQuantity: some(fc.integer({ min: 5, max: 15 }).map(String)),
    maxNotional: some(amount),
    collarPercent: some(fc.integer({ min: 1, max: 30 }).map(String)),
    maxQuoteAgeMs: some(fc.integer({ min: 0, max: 100 })),
    allowedSymbols: some(fc.subarray(['AAPL', 'MSFT', 'FED-CUT'])),
    forbiddenSymbols: some(fc.subarray(['AAPL', 'MSFT'])),
    instruments: some(fc.subarray(['equity', 'option', 'prediction'] as const)),
    maxOpenOrders: some(fc.integer({ min: 0, max: 2 })),
    maxSymbolExposure: some(amount),
    maxAccountExposure: some(amount),
    ordersPerMinute: some(fc.integer({ min: 0, max: 2 })),
    duplicateWindowMs: some(fc.constant(60_000)),
  })
  .map((all) => Object.fromEntries(Object.entries(all).filter(([, bound]) => bound !== undefined)) as Bounds);

const leg = { side: 'BUY', positionEffect: 'OPEN' } as const;
/** At a venue where a replace makes a new order. */
const replaceEquity = {
  ...{ kind: 'replace', stream: 'alpaca_paper', accountId: 'acct-1', orderId: 'order-1', terms: { quantity: '12' } },
} as const satisfies CommandRequest;
const replaces = fc.constantFrom<Previewed>(
  replaceWorking,
  { ...replaceWorking, terms: { timeInForce: 'day' } },
  { ...replaceWorking, terms: { quantity: '12', price: '0.9' } },
  { ...replaceWorking, terms: { price: '0.4' } },
  replaceEquity,
  { ...replaceEquity, terms: { quantity: '2', price: '190' } },
);
const places = fc.constantFrom<Previewed>(
  placeEquity,
  placePrediction,
  { ...placeEquity, terms: { ...placeEquity.terms, side: 'SELL' } },
  { ...placeEquity, terms: { symbol: 'AAPL', side: 'BUY', type: 'MARKET', qty: '10', timeInForce: 'DAY' } },
  {
    ...placeEquity,
    terms: {
      ...placeEquity.terms,
      legs: ['C', 'P'].map((right) => ({ ...leg, symbol: `AAPL261218${right}00200000`, ratioQty: '1' })),
    },
  },
);

const quotes = some(
  fc
    .record({ price: some(amount), ask: some(amount), ageMs: fc.integer({ min: 0, max: 200 }) })
    .map(({ price, ask, ageMs }) => ({
      ...{ ageMs, ...(price !== undefined && { price }), ...(ask !== undefined && { ask }) },
    })),
);

const open = { isOpen: true, status: 'OPEN' };
/** One draw of nine is the other one: of the many ways to be declined, a place meets few. */
const mostly = <T>(usual: T, other: T) =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constant(other) });
const rarely = <T>(value: T) => mostly<T | undefined>(undefined, value);

const worlds = fc.record({
  rows: fc.array(fc.tuple(bounds, fc.constantFrom({}, { accountId: 'acct-1' }, { principal: 'desk' })), {
    maxLength: 2,
  }),
  command: fc.oneof(places, replaces),
  quote: quotes,
  standing: fc.oneof(
    { weight: 4, arbitrary: fc.constant(open) },
    { weight: 1, arbitrary: fc.constantFrom(undefined, { isOpen: false, status: 'RESTRICTED' }) },
  ),
  access: fc.record({
    known: mostly(true, false),
    live: mostly(true, false),
    isSim: mostly(true, false),
    notEnrolled: mostly(false, true),
  }),
  halted: mostly(false, true),
  earlier: fc.constantFrom('none', 'accepted', 'unknown'),
  burst: fc.constantFrom(1, 40, 40),
  order: fc.record({
    status: mostly<Order['status']>('new', 'canceled'),
    pendingAction: mostly<Order['pendingAction']>('none', 'cancel'),
    cumQty: mostly('0', '3'),
  }),
  ifRevision: rarely(7),
  callerRef: rarely('ref-1'),
  supersedes: rarely('5c0bb0aa-64a5-4d52-a1f1-0b5c29a4a001'),
});
type World = typeof worlds extends fc.Arbitrary<infer Value> ? Value : never;

/** A process in this world, in which the same command may have been sent before. */
async function rigIn({
  rows,
  command,
  order,
  quote,
  standing,
  access,
  halted,
  earlier,
  burst,
  callerRef,
}: World): Promise<CommandRig> {
  const rig = await CommandRig.leading({
    callerRefOnce: true,
    rate: { perSecond: 0.001, burst },
    accounts: ['acct-1'],
  });
  if (earlier === 'unknown') rig.entry.scripts.push({ result: unknown });
  const named = callerRef === undefined ? {} : { callerRef };
  rig.probes.now = { ...rig.probes.now, live: true, isSim: true };
  for (const working of [workingOrder, { ...equityView, stream: 'alpaca_paper' as const, orderId: 'order-1' }])
    rig.commit({ ...working, origin: 'tidemark', ...order });
  if (earlier !== 'none') await rig.submit(command, named);
  for (const [bound, scope] of rows) {
    if (Object.keys(bound).length === 0) continue;
    await rig.during(rig.commands.operator.changeLimits(scope, bound, word));
  }
  if (halted) await rig.during(rig.commands.operator.halt({ kind: 'service' }, word));
  rig.quotes.now = quote;
  rig.probes.standingNow = standing;
  rig.probes.now = { ...rig.probes.now, ...access };
  return rig;
}

/** The numbers of what a preview must not touch. */
function traces(rig: CommandRig) {
  const { commands, events, audits } = rig.journal;
  return [
    commands.size,
    events.length,
    audits.length,
    rig.entry.sent.length,
    rig.commands.placeBudget.allowance('acct-1').remaining,
  ];
}

describe('a preview', () => {
  it('says first what the command is then declined for, nothing where it is journaled, and leaves no trace', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const { command: request, callerRef, supersedes, ifRevision } = world;
        const rig = await rigIn(world);
        const asked = {
          ...(callerRef !== undefined && { callerRef }),
          ...(supersedes !== undefined && { supersedes }),
          ...(request.kind === 'replace' && ifRevision !== undefined && { ifRevision }),
        };
        const before = traces(rig);
        const preview = await rig.during(
          rig.commands.preview({ ...asked, request, principal: 'desk', requestId: 'request-p' }),
        );
        expect(traces(rig)).toEqual(before);
        const said = preview.kind === 'declined' ? [preview] : preview.refusals;
        const placed = await rig.submit(request, asked);
        const [first] = said;
        // A quote that is older by the time of its second read may say another age.
        const plain = (text: string | undefined) => text?.replace(/is \d+ ms old/, 'is old');
        if (placed.kind === 'declined') {
          expect([first?.code, plain(first?.message)]).toEqual([placed.code, plain(placed.message)]);
          expect(first?.breach?.value).toEqual(placed.breach?.value);
        } else expect(said).toEqual([]);
        const key = placed.kind === 'declined' ? placed.code : placed.kind;
        seen.add(`${request.kind} ${key}`);
      }),
      { numRuns: 300 },
    );
    // The worlds are not all alike.
    const ends = [
      ...['place journaled', 'place PLACING_HALTED', 'place LIMIT_EXCEEDED'],
      ...['place SOURCE_NOT_LIVE', 'place ACCOUNT_NOT_OPEN', 'place ACCOUNT_NOT_FOUND'],
      ...['replace journaled', 'replace PLACING_HALTED', 'replace ACCOUNT_NOT_FOUND'],
      'replace ORDER_ACTION_PENDING',
    ];
    expect([...seen]).toEqual(expect.arrayContaining(ends));
  });

  it('names all that would decline it, and not the first alone', async () => {
    const rig = await CommandRig.leading();
    await rig.during(rig.commands.operator.changeLimits({}, { maxQuantity: '5', maxNotional: '100' }, word));
    await rig.during(rig.commands.operator.halt({ kind: 'service' }, word));
    rig.probes.now = { ...rig.probes.now, live: false };
    rig.quotes.now = { price: '191', bid: '190.9', ask: '191.1', last: '191', ageMs: 40 };
    const preview = await rig.during(rig.commands.preview({ request: placeEquity, principal: 'desk', requestId: 'r' }));
    if (preview.kind !== 'done') throw new Error(preview.code);
    expect(preview.refusals.map(({ code, breach }) => [code, breach?.limit])).toEqual([
      ['PLACING_HALTED', undefined],
      ['SOURCE_NOT_LIVE', undefined],
      ['LIMIT_EXCEEDED', 'maxQuantity'],
      ['LIMIT_EXCEEDED', 'maxNotional'],
    ]);
    expect(preview.measure).toMatchObject({ quantity: '10', notional: '1915' });
    expect(preview.quotes).toEqual([{ kind: 'equity', symbol: 'AAPL', quote: rig.quotes.now }]);
  });

  it('of a replace counts the larger of both orders, as the replace itself is counted', async () => {
    const rig = await CommandRig.leading();
    rig.commit({ ...equityView, stream: 'alpaca_paper', orderId: 'order-1', origin: 'tidemark' });
    await rig.during(rig.commands.operator.changeLimits({}, { maxQuantity: '11', maxNotional: '2000' }, word));
    const asked = { request: replaceEquity, principal: 'desk', requestId: 'r' };
    const preview = await rig.during(rig.commands.preview(asked));
    if (preview.kind !== 'done') throw new Error(preview.code);
    expect(preview.measure).toMatchObject({ quantity: '12', notional: '2298', exposure: '383' });
    expect(preview.refusals.map(({ breach }) => breach?.limit)).toEqual(['maxQuantity', 'maxNotional']);
    const missing = { ...replaceEquity, orderId: 'order-2' };
    expect(await rig.during(rig.commands.preview({ ...asked, request: missing }))).toMatchObject({
      code: 'ORDER_NOT_FOUND',
    });
  });

  it('is paced by a budget of its own, since each may read a quote at the platform', async () => {
    const rig = await CommandRig.leading({ rate: { perSecond: 1, burst: 2 } });
    const ask = () => rig.during(rig.commands.preview({ request: placeEquity, principal: 'desk', requestId: 'r' }));
    expect([(await ask()).kind, (await ask()).kind]).toEqual(['done', 'done']);
    expect(await ask()).toMatchObject({ kind: 'declined', code: 'RATE_LIMITED' });
    expect(rig.commands.placeBudget.allowance('acct-1').remaining).toBe(2);
  });
});
