import { createHash } from 'node:crypto';
import { buys, type ExchangeOrder, type OrderState, workingTermsOf } from '../exchange/exchange-order.ts';
import type { VenueWords } from '../exchange/venue-words.ts';
import { averagePrice, type Fixed, formatFixed, instantText, type Micros } from '../exchange/wire-text.ts';
import { isHeld } from './order-groups.ts';

/**
 * Nanoseconds since the epoch. The exchange counts microseconds, and no two changes share one: the
 * three digits behind them are made up, always the same ones for an instant.
 */
export function nanosOf(at: Micros): bigint {
  return BigInt(at) * 1000n + BigInt(at % 997);
}

/** As Alpaca writes it: up to nine digits, without zeros at the end. */
export function nanosText(at: Micros): string {
  const made = String(at % 997).padStart(3, '0');
  return `${`${instantText(at).slice(0, -1)}${made}`.replace(/\.?0+$/, '')}Z`;
}

/** Alpaca names accounts, assets and executions by UUIDs: always the same one for a name. */
export function uuidOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const pendingWords = { none: undefined, cancel: 'pending_cancel', replace: 'pending_replace' } as const;

/**
 * The exchange's words are Alpaca's, except for waiting requests and for exits before their entry.
 */
export function statusWord(order: ExchangeOrder): string {
  return pendingWords[order.pendingAction] ?? (isHeld(order) ? 'held' : order.state);
}

/** Each end has a field for its time. */
const endedAt: Readonly<Partial<Record<OrderState, string>>> = {
  filled: 'filled_at',
  expired: 'expired_at',
  canceled: 'canceled_at',
  rejected: 'failed_at',
  replaced: 'replaced_at',
};

const intents: Readonly<Record<string, string>> = {
  BUY: 'buy_to_open',
  BUY_TO_COVER: 'buy_to_close',
  SELL: 'sell_to_close',
  SELL_SHORT: 'sell_to_open',
};

/** The option contract, if there is one. Orders with several legs are not on this venue. */
function instrumentOf({ terms }: ExchangeOrder): { symbol: string; class: string } {
  const [leg] = terms.legs ?? [];
  return leg === undefined ? { symbol: terms.symbol, class: 'us_equity' } : { symbol: leg.symbol, class: 'us_option' };
}

export function symbolOf(order: ExchangeOrder): string {
  return instrumentOf(order).symbol;
}

export function sideWord(order: ExchangeOrder): 'buy' | 'sell' {
  return buys(order) ? 'buy' : 'sell';
}

function intentOf({ terms }: ExchangeOrder): string {
  const [leg] = terms.legs ?? [];
  if (leg === undefined) return intents[terms.side] ?? '';
  return `${leg.side === 'BUY' ? 'buy' : 'sell'}_to_${leg.positionEffect.toLowerCase()}`;
}

const textOf = (value: Fixed | undefined): string | null => (value === undefined ? null : formatFixed(value));

/** One order, the same in lists, single reads and events (Alpaca's OpenAPI 2.0.1, `Order`). */
function encodeAlpacaOrder(order: ExchangeOrder): string {
  const { terms } = order;
  const instrument = instrumentOf(order);
  const working = workingTermsOf(order);
  const type = terms.orderType.toLowerCase();
  const createdAt = nanosText(order.createdAt);
  const ends = { filled_at: null, expired_at: null, canceled_at: null, failed_at: null, replaced_at: null };
  const end = endedAt[order.state];
  return JSON.stringify({
    id: terms.orderId,
    client_order_id: terms.clOrdId,
    created_at: createdAt,
    updated_at: nanosText(order.updatedAt),
    submitted_at: createdAt,
    ...ends,
    ...(end === undefined || order.closedAt === undefined ? {} : { [end]: nanosText(order.closedAt) }),
    replaced_by: order.replacedBy ?? null,
    replaces: terms.replaces ?? null,
    asset_id: uuidOf(instrument.symbol),
    symbol: instrument.symbol,
    asset_class: instrument.class,
    notional: textOf(terms.notional),
    qty: terms.notional === undefined ? formatFixed(order.workingQuantity) : null,
    filled_qty: formatFixed(order.cumQty),
    filled_avg_price: order.cumQty === 0n ? null : formatFixed(averagePrice(order.notional, order.cumQty)),
    order_class: terms.group?.kind ?? '',
    order_type: type,
    type,
    side: sideWord(order),
    position_intent: intentOf(order),
    time_in_force: working.timeInForce.toLowerCase(),
    limit_price: textOf(order.workingPrice),
    stop_price: textOf(working.stopPrice),
    status: statusWord(order),
    extended_hours: terms.extendedHours === true,
    legs: null,
    trail_percent: null,
    trail_price: null,
    hwm: null,
    subtag: null,
    source: null,
  });
}

/** A row with its legs' rows in it. */
export function nestedRow(row: string, legs: readonly string[]): string {
  return legs.length === 0 ? row : row.replace('"legs":null', () => `"legs":[${legs.join(',')}]`);
}

/** The event for each step. Alpaca has no word for the others: they are `restated`. */
const events: Readonly<Record<string, string>> = {
  opened: 'pending_new',
  placed: 'pending_new',
  accepted: 'new',
  succeeded: 'new',
  rejected: 'rejected',
  canceled: 'canceled',
  expired: 'expired',
  replaced: 'replaced',
  cancel_pending: 'pending_cancel',
  replace_pending: 'pending_replace',
  cancel_refused: 'order_cancel_rejected',
  replace_refused: 'order_replace_rejected',
  done_for_day: 'done_for_day',
  suspended: 'suspended',
};

/** The event for a step that is an execution. A bust leaves nothing of the trades. */
export function executionOf({ state, cumQty }: ExchangeOrder, step: string): string | undefined {
  if (step === 'fill') return state === 'filled' ? 'fill' : 'partial_fill';
  if (step === 'corrected') return cumQty === 0n ? 'trade_bust' : 'trade_correct';
  return undefined;
}

/** For the order's last change. */
export function executionId({ terms, updatedAt }: Pick<ExchangeOrder, 'terms' | 'updatedAt'>): string {
  return uuidOf(`${terms.orderId} ${updatedAt}`);
}

function encodeTradeUpdate(order: ExchangeOrder, data: string, step: string): string {
  const { lastQuantity, lastPrice, updatedAt } = order;
  const event = executionOf(order, step) ?? events[step] ?? 'restated';
  const fill = step === 'fill' ? `"price":"${formatFixed(lastPrice)}","qty":"${formatFixed(lastQuantity)}",` : '';
  const id = executionId(order);
  return `{"stream":"trade_updates","data":{"event":"${event}","execution_id":"${id}","timestamp":"${nanosText(updatedAt)}",${fill}"order":${data}}}`;
}

/** Alpaca's words. */
export const alpacaWords: VenueWords = { row: encodeAlpacaOrder, data: encodeAlpacaOrder, event: encodeTradeUpdate };
