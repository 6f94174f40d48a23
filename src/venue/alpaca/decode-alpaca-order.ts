import {
  type Instrument,
  isTerminal,
  type Leg,
  type OrderStatus,
  type OrderView,
  orderWord,
  type Stream,
  type TerminalStatus,
  type Whole,
} from '../../domain/order.ts';
import { canonicalSymbol, contractRoot, optionRoot } from '../../domain/symbol.ts';
import { type RowReader, readLegs, wordTable } from '../row-reader.ts';
import type { OrderDecoder } from '../venue.ts';

/** Orders with money, and without. */
export type AlpacaStream = Extract<Stream, 'alpaca' | 'alpaca_paper'>;

/** Alpaca's documents, "Order Lifecycle"; `pending_review` and `held` are in its OpenAPI alone. */
const places: ReadonlyMap<string, OrderStatus> = new Map([
  ['accepted', 'pending_new'],
  ['pending_new', 'pending_new'],
  ['accepted_for_bidding', 'pending_new'],
  ['pending_review', 'pending_new'],
  // A leg that waits for the order above it.
  ['held', 'pending_new'],
  ['new', 'new'],
  ['stopped', 'new'],
  ['calculated', 'new'],
  ['pending_cancel', 'new'],
  ['pending_replace', 'new'],
  ['partially_filled', 'partially_filled'],
  ['filled', 'filled'],
  ['canceled', 'canceled'],
  ['expired', 'expired'],
  ['replaced', 'replaced'],
  ['rejected', 'rejected'],
  ['done_for_day', 'done_for_day'],
  ['suspended', 'suspended'],
]);

const quantityFields = { status: 'status', filled: 'filled_qty', leaves: 'leaves_qty' } as const;

/** They show a request, and not the order's status. */
const pendingActions = wordTable({ pending_cancel: 'cancel', pending_replace: 'replace' });

/** Each end has a field for its time. */
const endedAt: Readonly<Record<TerminalStatus, string>> = {
  filled: 'filled_at',
  canceled: 'canceled_at',
  expired: 'expired_at',
  rejected: 'failed_at',
  replaced: 'replaced_at',
};

/** Fields with a place in the view. The others are carried in `extra`, without those left out. */
const knownFields: ReadonlySet<string> = new Set([
  ...['id', 'client_order_id', 'symbol', 'side', 'type', 'order_type', 'time_in_force', 'status', 'qty', 'notional'],
  ...['limit_price', 'stop_price', 'filled_qty', 'filled_avg_price', 'created_at', 'updated_at', 'submitted_at'],
  ...['replaces', 'replaced_by'],
]);

/** An order of Alpaca, the same in events, lists and answers (its OpenAPI 2.0.1, `Order`). */
export function alpacaOrders(stream: AlpacaStream): OrderDecoder {
  return {
    names: { orderId: 'id', status: 'status' },
    decode: (row, { accountId }) => ({ view: readView(row, stream, accountId) }),
  };
}

/**
 * The normalised view. No row names its account: a key pair has one. An order for an amount of
 * money has no quantity, not even when it is filled. `legs` has whole orders with ids of their own:
 * they are carried.
 */
function readView(row: RowReader, stream: AlpacaStream, accountId: string): Whole<OrderView> {
  const notional = row.optionalQuantity('notional');
  const quantity = notional === undefined ? row.quantity('qty') : row.optionalQuantity('qty');
  // Alpaca shows no working quantity: it is the rest.
  const { statusRaw, status, cumQty, leavesQty } = row.standing(quantityFields, places, quantity);
  const orderType = row.word('type');
  const price = row.optionalDecimal('limit_price');
  const averagePrice = row.carriedDecimal('filled_avg_price');
  const instrument = readInstrument(row);
  const ended = isTerminal(status) ? endedAt[status] : undefined;
  const closedAt = ended === undefined ? undefined : row.carriedInstant(ended);
  return {
    stream,
    orderId: row.id('id'),
    accountId,
    instrument,
    side: (instrument.legs?.length ?? 0) > 1 ? row.word('side') : orderWord(row.text('side')),
    orderType,
    timeInForce: row.word('time_in_force'),
    status,
    statusRaw,
    certainty: 'certain',
    certaintyReason: undefined,
    pendingAction: pendingActions.get(statusRaw) ?? 'none',
    quantity,
    notional,
    price,
    stopPrice: row.optionalDecimal('stop_price'),
    working: price === undefined ? { quantity, orderType } : { quantity, price, orderType },
    cumQty,
    leavesQty,
    avgPrice: cumQty === '0' ? undefined : averagePrice,
    clOrdId: row.carriedText('client_order_id'),
    clientOrderRef: undefined,
    venueOrderId: undefined,
    replaces: row.carriedText('replaces'),
    replacedBy: row.carriedText('replaced_by'),
    placedBy: undefined,
    rejectReason: undefined,
    rejectText: undefined,
    createdAt: row.carriedInstant('created_at'),
    // Its OpenAPI lets it be null: then nothing has changed since.
    updatedAt: row.instant((row.found('updated_at') ?? null) === null ? 'created_at' : 'updated_at'),
    sentAt: row.carriedInstant('submitted_at'),
    firstAckAt: undefined,
    closedAt,
    expireTime: undefined,
    extra: readExtra(row, closedAt === undefined ? undefined : ended),
  };
}

/**
 * Crypto pairs are shown as equities: both are so many units at a price each. Of another class the
 * worth of a unit is not known here, so its order can't be read.
 */
const assetClasses: ReadonlySet<string> = new Set(['us_equity', 'us_option', 'crypto', 'unknown']);

/**
 * A contract is one leg under its root, as on the platform, so that symbols compare. Only a package
 * (`mleg`) has legs in our sense; those of a bracket are its exits. It has neither symbol nor class
 * of its own.
 */
function readInstrument(row: RowReader): Instrument {
  const legs = row.word('order_class') === 'mleg' ? readLegs(row, legOf) : [];
  const [first] = legs;
  if (first !== undefined) {
    const told = row.carriedText('symbol');
    return { kind: 'option', symbol: told === undefined ? contractRoot(first.symbol) : canonicalSymbol(told), legs };
  }
  const assetClass = row.word('asset_class');
  if (!assetClasses.has(assetClass)) row.fail('asset_class', 'unknown_asset_class', [...assetClasses].join(', '));
  const symbol = canonicalSymbol(row.text('symbol'));
  const isOption = assetClass === 'us_option' || (assetClass === 'unknown' && optionRoot(symbol) !== undefined);
  return isOption ? { kind: 'option', symbol: contractRoot(symbol), legs: [legOf(row)] } : { kind: 'equity', symbol };
}

/** Of a leg's own order, or of the order for one contract. */
function legOf(row: RowReader): Leg {
  const effect = row.word('position_intent').split('_to_')[1];
  return {
    symbol: canonicalSymbol(row.text('symbol')),
    side: row.word('side'),
    ratioQty: row.optionalQuantity('ratio_qty') ?? '1',
    ...(effect !== undefined && effect !== '' && { positionEffect: effect }),
  };
}

/** `shown`: a field with a place in this view alone. */
function readExtra(row: RowReader, shown: string | undefined): OrderView['extra'] {
  const told = Object.entries(row.extra(knownFields) ?? {}).filter(
    ([field, value]) => field !== shown && value !== null && value !== '',
  );
  return told.length === 0 ? undefined : Object.fromEntries(told);
}
