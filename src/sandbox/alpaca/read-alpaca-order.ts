import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { optionContract } from '../data/option-contracts.ts';
import { isObject, MemberFault, Members, required } from '../entry/request-members.ts';
import type { Leg } from '../exchange/exchange-order.ts';
import { type Fixed, fixed, formatFixed } from '../exchange/wire-text.ts';

/**
 * The body of `POST /v2/orders`, in the exchange's words. It has `quantity` or `notional`, and one
 * leg for a contract.
 */
export type PlaceTerms = ReturnType<typeof readPlace>;

/** The exits placed with an order. `oto` has one. */
interface GroupTerms {
  readonly kind: 'bracket' | 'oco' | 'oto';
  readonly takeProfit: Fixed | undefined;
  readonly stopLoss: { readonly stopPrice: Fixed; readonly price: Fixed | undefined } | undefined;
}

/** The body of `PATCH /v2/orders/{id}`: absent terms stay. */
export type PatchTerms = ReturnType<typeof readPatch>;

const placeMembers = [
  ...['symbol', 'qty', 'notional', 'side', 'type', 'time_in_force', 'limit_price', 'stop_price'],
  ...['extended_hours', 'client_order_id', 'order_class', 'position_intent', 'take_profit', 'stop_loss'],
];
const patchMembers = ['qty', 'time_in_force', 'limit_price', 'stop_price', 'client_order_id'];
const types = ['market', 'limit', 'stop', 'stop_limit'] as const;
const timesInForce = ['day', 'gtc', 'ioc', 'fok'] as const;
const intents = ['buy_to_open', 'buy_to_close', 'sell_to_open', 'sell_to_close'] as const;

/** `JSON.parse` gives a number's source; the language's types lack it. */
const json = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
};

/**
 * A body's members. A number counts as its own text, so that no digit is lost, and null as absent.
 * Members unknown here are refused, never left out in silence.
 * @throws MemberFault
 */
function readMembers(body: unknown, known: readonly string[]): Members {
  const text = Buffer.isBuffer(body) ? body.toString('utf8') : '';
  const value = jsonOrUndefined(text, (it) =>
    json.parse(it, (_key, member, { source }) => (typeof member === 'number' ? source : (member ?? undefined))),
  );
  return membersOf(value, known, 'request body format is invalid');
}

function membersOf(value: unknown, known: readonly string[], fault: string, prefix = ''): Members {
  if (!isObject(value)) throw new MemberFault(fault);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new MemberFault(`${prefix}${unknown.slice(0, 50)} is not emulated`);
  return new Members(value);
}

/** @throws MemberFault */
export function readPlace(body: unknown) {
  const members = readMembers(body, placeMembers);
  const named = required(members.text('symbol', { min: 1, max: 21 }), 'symbol');
  const contract = optionContract(named);
  const side = required(members.word('side', ['buy', 'sell'] as const), 'side');
  const intent = members.word('position_intent', intents);
  if (intent?.startsWith(side) === false) throw new MemberFault('side and position_intent contradict each other');
  const group = groupOf(members);
  const type = required(members.word('type', types), 'type');
  const terms = {
    symbol: contract?.underlying ?? named,
    legs: contract && [legOf(contract.symbol, side, intent)],
    side: contract === undefined ? sideOf(side, intent) : side.toUpperCase(),
    type: type.toUpperCase(),
    timeInForce: required(members.word('time_in_force', timesInForce), 'time_in_force').toUpperCase(),
    quantity: members.decimal('qty'),
    notional: members.decimal('notional'),
    // The order itself takes the profit: it has that price, and none of its own.
    price: group?.kind === 'oco' ? group.takeProfit : priceOf(members, 'limit_price'),
    stopPrice: priceOf(members, 'stop_price'),
    extendedHours: flagOf(members, 'extended_hours'),
    clientOrderId: clientOrderIdOf(members),
    group,
  };
  checkPlace(terms);
  if (group !== undefined) checkGroup(terms, group);
  return terms;
}

/** @throws MemberFault */
export function readPatch(body: unknown) {
  const members = readMembers(body, patchMembers);
  return {
    quantity: members.decimal('qty'),
    price: priceOf(members, 'limit_price'),
    stopPrice: priceOf(members, 'stop_price'),
    timeInForce: members.word('time_in_force', timesInForce)?.toUpperCase(),
    clientOrderId: clientOrderIdOf(members),
  };
}

/** Each type needs its own prices, and no other. */
export function checkPrices(type: string, price: unknown, stopPrice: unknown): void {
  const word = type.toLowerCase();
  const needs = { limit_price: type.endsWith('LIMIT'), stop_price: type.startsWith('STOP') };
  for (const [name, value] of [
    ['limit_price', price],
    ['stop_price', stopPrice],
  ] as const) {
    if (needs[name] && value === undefined) throw new MemberFault(`${word} orders require ${name}`);
    if (!needs[name] && value !== undefined) throw new MemberFault(`${word} orders require no ${name}`);
  }
}

/** Amounts of money trade at the market's price, and fractions within the day, as at Alpaca. */
function checkPlace({ type, timeInForce, legs, ...terms }: PlaceTerms): void {
  checkPrices(type, terms.price, terms.stopPrice);
  if ((terms.quantity === undefined) === (terms.notional === undefined))
    throw new MemberFault('one of qty and notional is required');
  if (terms.notional !== undefined && type !== 'MARKET') throw new MemberFault('notional orders must be market orders');
  const isPart = terms.notional !== undefined || !isWhole(terms.quantity);
  if (isPart && timeInForce !== 'DAY') throw new MemberFault('fractional orders must be DAY orders');
  if (legs !== undefined && (isPart || timeInForce !== 'DAY'))
    throw new MemberFault('option orders must be DAY orders for whole contracts');
  if (terms.extendedHours && (type !== 'LIMIT' || !['DAY', 'GTC'].includes(timeInForce)))
    throw new MemberFault('extended hours order must be DAY or GTC limit orders');
}

export function isWhole(quantity: Fixed | undefined): boolean {
  return quantity === undefined || quantity % fixed('1') === 0n;
}

const groupKinds = ['', 'simple', 'bracket', 'oco', 'oto'] as const;

function groupOf(members: Members): GroupTerms | undefined {
  const kind = members.word('order_class', groupKinds) ?? '';
  const [profit, loss] = [
    partOf(members, 'take_profit', ['limit_price']),
    partOf(members, 'stop_loss', ['stop_price', 'limit_price']),
  ];
  if (kind === '' || kind === 'simple') {
    if (profit !== undefined || loss !== undefined)
      throw new MemberFault('take_profit and stop_loss need an order_class');
    return undefined;
  }
  const takeProfit =
    profit === undefined ? undefined : required(priceOf(profit, 'limit_price'), 'take_profit.limit_price');
  const stopLoss =
    loss === undefined
      ? undefined
      : {
          stopPrice: required(priceOf(loss, 'stop_price'), 'stop_loss.stop_price'),
          price: priceOf(loss, 'limit_price'),
        };
  const exits = [takeProfit, stopLoss].filter((exit) => exit !== undefined).length;
  if (exits !== (kind === 'oto' ? 1 : 2)) throw new MemberFault(`${kind} orders require other exits`);
  return { kind, takeProfit, stopLoss };
}

function partOf(members: Members, name: string, known: readonly string[]): Members | undefined {
  const value = members.raw(name);
  return value === undefined ? undefined : membersOf(value, known, `${name} must be an object`, `${name}.`);
}

/** Whole shares on the book, with the profit on the far side from the loss. */
function checkGroup(terms: PlaceTerms, { kind, takeProfit, stopLoss }: GroupTerms): void {
  if (terms.notional !== undefined || !isWhole(terms.quantity) || terms.legs !== undefined || terms.extendedHours)
    throw new MemberFault(`${kind} orders must be for whole shares within the session`);
  if (!['DAY', 'GTC'].includes(terms.timeInForce)) throw new MemberFault(`${kind} orders must be DAY or GTC`);
  if (kind === 'oco' && terms.type !== 'LIMIT') throw new MemberFault('oco orders must be limit orders');
  if (takeProfit === undefined || stopLoss === undefined) return;
  const exitSells = terms.side.startsWith('BUY') === (kind !== 'oco');
  if (exitSells ? takeProfit <= stopLoss.stopPrice : takeProfit >= stopLoss.stopPrice)
    throw new MemberFault('take_profit.limit_price must be better than stop_loss.stop_price');
}

/** Below a dollar four digits, from there on two. */
function priceOf(members: Members, name: 'limit_price' | 'stop_price'): Fixed | undefined {
  const price = members.decimal(name);
  if (price === undefined || price % fixed(price < fixed('1') ? '0.0001' : '0.01') === 0n) return price;
  throw new MemberFault(
    `invalid ${name} ${formatFixed(price)}. sub-penny increment does not fulfill minimum pricing criteria`,
  );
}

function clientOrderIdOf(members: Members): string | undefined {
  const id = members.text('client_order_id', { max: 128 });
  return id === '' ? undefined : id;
}

function flagOf(members: Members, name: string): boolean {
  const value = members.raw(name) ?? false;
  if (typeof value !== 'boolean') throw new MemberFault(`${name} must be true or false`);
  return value;
}

function sideOf(side: 'buy' | 'sell', intent: string | undefined): string {
  if (intent === 'buy_to_close') return 'BUY_TO_COVER';
  return intent === 'sell_to_open' ? 'SELL_SHORT' : side.toUpperCase();
}

function legOf(symbol: string, side: 'buy' | 'sell', intent: string | undefined): Leg {
  const closes = intent?.endsWith('close') ?? side === 'sell';
  return { symbol, side: side.toUpperCase(), ratioQty: '1', positionEffect: closes ? 'CLOSE' : 'OPEN' };
}
