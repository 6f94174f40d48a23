import fc from 'fast-check';
import type { Observation } from '../../../src/domain/observation.ts';
import type { Instrument, OrderStatus, OrderView } from '../../../src/domain/order.ts';
import { observe } from './observe.ts';

const noon = Date.parse('2026-11-21T12:00:00Z');

/** One instant of a second-by-second scale, in one of the ways in which a platform may write it. */
export function instantAt(second: number, form: 'Z' | 'millis' | 'offset' = 'Z'): string {
  const text = new Date(noon + second * 1000).toISOString();
  if (form === 'millis') return text;
  if (form === 'Z') return text.replace('.000Z', 'Z');
  return new Date(noon + (second + 3600) * 1000).toISOString().replace('.000Z', '+01:00');
}

export const equityView: OrderView = {
  stream: 'account',
  orderId: 'ord-1',
  accountId: 'acct-1',
  instrument: { kind: 'equity', symbol: 'AAPL' },
  side: 'buy',
  orderType: 'limit',
  timeInForce: 'day',
  status: 'new',
  statusRaw: 'NEW',
  certainty: 'certain',
  pendingAction: 'none',
  quantity: '10',
  price: '191.5',
  working: { quantity: '10', price: '191.5', orderType: 'limit' },
  cumQty: '0',
  leavesQty: '10',
  clOrdId: 'client-1',
  updatedAt: instantAt(0),
};

export const predictionView: OrderView = {
  stream: 'prediction',
  orderId: '7d9f0a52-4c1e-4a53-9d0e-000000000001',
  accountId: 'acct-1',
  instrument: { kind: 'prediction', symbol: 'FED-CUT', outcome: 'YES' },
  side: 'buy',
  orderType: 'limit',
  timeInForce: 'gtc',
  status: 'new',
  statusRaw: 'new',
  certainty: 'certain',
  pendingAction: 'none',
  quantity: '10',
  price: '0.4',
  working: { quantity: '10', price: '0.4' },
  cumQty: '0',
  leavesQty: '10',
  createdAt: instantAt(0),
  updatedAt: instantAt(0),
};

const statuses: readonly OrderStatus[] = [
  'pending_new',
  'new',
  'partially_filled',
  'filled',
  'canceled',
  'rejected',
  'expired',
  'replaced',
  'done_for_day',
  'suspended',
  'unknown',
];
const sometimes = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });

/** Drops what is undefined: absent is absent. */
function present(fields: { [K in keyof OrderView]?: OrderView[K] | undefined }): Partial<OrderView> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<OrderView>;
}

/**
 * The same order under several names: renamed, spelt otherwise, its legs in another order, left
 * out, or without their effects.
 */
const open = { symbol: 'AAPL261218C00200000', side: 'buy', ratioQty: '1', positionEffect: 'open' };
const short = { symbol: 'AAPL261218C00210000', side: 'sell', ratioQty: '1' };
const instruments: readonly Instrument[] = [
  { kind: 'equity', symbol: 'AAPL' },
  { kind: 'equity', symbol: 'AAPL' },
  { kind: 'equity', symbol: 'META' },
  { kind: 'option', symbol: 'AAPL', legs: [open, short] },
  { kind: 'option', symbol: 'AAPL', legs: [short, { ...open, positionEffect: 'close' }] },
  { kind: 'option', symbol: 'AAPL', legs: [{ symbol: 'AAPL  261218C00200000', side: 'buy', ratioQty: '1' }] },
];

/**
 * Views of one account order with few distinct values, so that ties at every level of the join are
 * common. Anything may be combined with anything: the platform's discipline is not assumed. List
 * rows have createdAt, and some fields that we don't know. Only reference and creation are one
 * order's: another one of either would be another order (`isAnotherOrder`).
 */
export function accountViews(): fc.Arbitrary<OrderView> {
  return fc
    .record({
      status: fc.constantFrom(...statuses),
      cumQty: fc.constantFrom('0', '2.5', '5', '9', '10'),
      second: fc.integer({ min: 0, max: 3 }),
      form: fc.constantFrom('Z' as const, 'millis' as const, 'offset' as const),
      // Undefined: for an amount of money.
      quantity: fc.constantFrom('10', '12', undefined),
      instrument: fc.constantFrom(...instruments),
      side: fc.constantFrom('buy', 'buy', 'buy_to_cover'),
      price: sometimes(fc.constantFrom('1.5', '2')),
      avgPrice: sometimes(fc.constantFrom('1.4', '1.45')),
      leavesQty: fc.constantFrom('0', '0', '10', undefined),
      pendingAction: fc.constantFrom('none', 'none', 'cancel'),
      wordCase: fc.boolean(),
      clOrdId: fc.constant('client-1'),
      rejectText: sometimes(fc.constantFrom('no funds', 'halted')),
      expireTime: sometimes(fc.constantFrom(instantAt(99), instantAt(99, 'offset'))),
      createdAt: sometimes(fc.constant(instantAt(-9))),
      extra: sometimes(fc.constant({ desk: 'x' })),
    })
    .map(({ second, form, wordCase, status, quantity, price, ...rest }) => ({
      ...withoutTerms(equityView),
      status,
      statusRaw: wordCase ? status.toUpperCase() : status,
      quantity,
      notional: quantity === undefined ? '20' : undefined,
      working: { quantity, ...(price === undefined ? {} : { price }) },
      updatedAt: instantAt(second, form),
      ...present({ ...rest, price }),
    }));
}

function withoutTerms(view: OrderView): OrderView {
  const { price: _price, clOrdId: _clOrdId, leavesQty: _leavesQty, ...rest } = view;
  return rest;
}

/** Observations of one account order, in an order of arrival. */
export function accountObservations({ minLength = 1, maxLength = 8 } = {}): fc.Arbitrary<Observation[]> {
  const observation = fc
    .tuple(accountViews(), fc.constantFrom('stream' as const, 'snapshot' as const, 'probe' as const))
    .map(([view, cause]) => observe(view, { cause }));
  return fc.array(observation, { minLength, maxLength });
}

/**
 * What a platform that keeps its word says of one prediction order: one content a version, versions
 * that rise with time, int64 digits that a double can't tell apart, a restart of versions in a
 * later source epoch, repetitions, and replies that leave the version out.
 */
export function predictionObservations(maxLength = 12): fc.Arbitrary<Observation[]> {
  const state = fc.record({
    step: fc.constantFrom(1n, 1n, 2n, 7n),
    cumQty: fc.constantFrom('0', '1', '2.5', '10'),
    status: fc.constantFrom(...statuses),
    price: fc.constantFrom('0.4', '0.41'),
  });
  const epoch = fc.record({
    start: fc.constantFrom(0n, 1n, 9007199254740990n, 9223372036854775700n),
    states: fc.array(state, { minLength: 1, maxLength: 6 }),
  });
  return fc.array(epoch, { minLength: 1, maxLength: 3 }).chain((epochs) => {
    const said = epochs.flatMap(({ start, states }, sourceEpoch) => versionsOf(start, states, sourceEpoch));
    const one = fc.tuple(fc.constantFrom(...said), fc.integer({ min: 0, max: 9 }));
    return fc
      .array(one, { minLength: 1, maxLength })
      .map((picks) => picks.map(([o, n]) => (n === 0 ? withoutVersion(o) : o)));
  });
}

interface StateStep {
  readonly step: bigint;
  readonly cumQty: string;
  readonly status: OrderStatus;
  readonly price: string;
}

function versionsOf(start: bigint, states: readonly StateStep[], sourceEpoch: number): Observation[] {
  let version = start;
  return states.map(({ step, price, cumQty, status }, index) => {
    version += step;
    const view: OrderView = {
      ...predictionView,
      status,
      statusRaw: status,
      cumQty,
      working: { quantity: '10', price },
      updatedAt: instantAt(sourceEpoch * 100 + index),
    };
    return observe(view, { sourceVersion: version, sourceEpoch });
  });
}

function withoutVersion({ sourceVersion: _left, ...rest }: Observation): Observation {
  return { ...rest, cause: 'reply' };
}

/** The same items in another order, some of them more than once. */
export function shuffledWithRepeats<T>(items: readonly T[]): fc.Arbitrary<T[]> {
  return fc
    .tuple(
      fc.shuffledSubarray([...items], { minLength: items.length }),
      fc.array(fc.constantFrom(...items), { maxLength: 4 }),
    )
    .chain(([all, again]) => fc.shuffledSubarray([...all, ...again], { minLength: all.length + again.length }));
}
