import { compareDecimals, subtractDecimals } from '../../domain/decimal.ts';
import type { Cause, Observation, Unreadable } from '../../domain/observation.ts';
import type { Instrument, Leg, OrderStatus, OrderView, Stream, Whole } from '../../domain/order.ts';
import { isTerminal, orderStatuses, orderWord, parseVersion, statusWord } from '../../domain/order.ts';
import { canonicalSymbol, optionRoot, shortestContract } from '../../domain/symbol.ts';
import { storableText } from '../../venue/platform/parse-json.ts';
import { accountOrderItem } from '../../venue/platform/wire/account-order.ts';
import { predictionOrder, predictionStates } from '../../venue/platform/wire/prediction-order.ts';
import { type Fault, RowReader } from './row-reader.ts';

/** A decoded row, without its source. `sourceVersion` only where the row had one. */
interface DecodedOrder {
  readonly view: OrderView;
  readonly sourceVersion?: bigint;
}

const knownAccountFields: ReadonlySet<string> = new Set(Object.keys(accountOrderItem.shape));
const maxLegs = 16;

/** They show a request, and not the order's status. */
const pendingActions: ReadonlyMap<string, string> = new Map([
  ['pending_cancel', 'cancel'],
  ['pending_replace', 'replace'],
]);
const accountStatuses: ReadonlySet<string> = new Set(orderStatuses);

/**
 * An equity or option order of the platform → the normalised view (platform specification,
 * "Events"). Events name their account in the target only, so it is passed in. Account orders have
 * no working terms of their own: they repeat the terms.
 */
function decodeAccountOrder(row: RowReader, accountId: string): DecodedOrder {
  const word = statusWord(row.text('ordStatus'));
  const known = knownStatus(word, accountStatuses);
  const quantity = row.quantity('qty');
  const cumQty = filledOf(row, quantity, known);
  const orderType = wordOf(row, 'type');
  const price = hasNoPrice.has(orderType) ? nonZero(row, 'price') : row.optionalDecimal('price');
  const stopPrice = nonZero(row, 'stopPrice');
  const averagePrice = row.carriedDecimal('avgPrice');
  const pendingAction = pendingActions.get(word);
  const status = pendingAction === undefined ? known : cumQty === '0' ? 'new' : 'partially_filled';
  const instrument = readInstrument(row);
  const text = row.carriedText('text');
  const statusText = status === 'rejected' ? undefined : text;
  const view: Whole<OrderView> = {
    stream: 'account',
    orderId: row.id('ordId'),
    accountId: row.optionalId('accountId') ?? accountId,
    instrument,
    side: sideOf(row, instrument),
    orderType,
    timeInForce: wordOf(row, 'timeInForce'),
    status,
    statusRaw: word.toUpperCase(),
    certainty: 'certain',
    certaintyReason: undefined,
    pendingAction: pendingAction ?? 'none',
    quantity,
    price,
    stopPrice,
    working: price === undefined ? { quantity, orderType } : { quantity, price, orderType },
    cumQty,
    leavesQty: leavesOf(row, quantity, cumQty, status),
    avgPrice: cumQty === '0' ? undefined : averagePrice,
    clOrdId: row.carriedText('clOrdId'),
    clientOrderRef: undefined,
    venueOrderId: undefined,
    placedBy: undefined,
    rejectReason: row.carriedText('ordRejReason'),
    rejectText: status === 'rejected' ? text : undefined,
    createdAt: row.carriedInstant('createdAt'),
    updatedAt: row.instant('updatedAt'),
    sentAt: undefined,
    firstAckAt: undefined,
    closedAt: undefined,
    expireTime: undefined,
    // `text` is a status message on every order; only on a rejected one is it the reason.
    extra:
      statusText === undefined ? row.extra(knownAccountFields) : { ...row.extra(knownAccountFields), text: statusText },
  };
  return { view };
}

const hasNoPrice: ReadonlySet<string> = new Set(['market', 'stop']);

/**
 * A price that an order may have none of: some platforms write that as zero. Only a package of legs
 * may have the limit zero.
 */
function nonZero(row: RowReader, field: string): string | undefined {
  const price = row.optionalDecimal(field);
  return price === '0' ? undefined : price;
}

/**
 * A field's word for how an order works, not for what became of it: `unknown` if it is left out.
 */
function wordOf(row: RowReader, field: string): string {
  return orderWord(row.carriedText(field) ?? 'unknown');
}

/**
 * The filled quantity. An order just begun, or rejected, may be shown without one; a working one
 * may have the rest instead. If it follows from neither, it is missing.
 */
function filledOf(row: RowReader, total: string, status: OrderStatus): string {
  const filled = row.optionalQuantity('cumQty');
  if (filled !== undefined || row.fault !== undefined) return filled ?? '0';
  if (status === 'pending_new' || status === 'new' || status === 'rejected') return '0';
  const leaves = isTerminal(status) ? undefined : row.optionalQuantity('leavesQty');
  if (leaves === undefined || row.fault !== undefined || compareDecimals(leaves, total) > 0)
    return row.quantity('cumQty');
  return subtractDecimals(total, leaves);
}

/** The working quantity: if left out, the rest, unless the order has ended. */
function leavesOf(row: RowReader, total: string, cumQty: string, status: OrderStatus): string {
  const leaves = row.optionalQuantity('leavesQty');
  if (leaves !== undefined || row.fault !== undefined) return leaves ?? '0';
  return isTerminal(status) || compareDecimals(cumQty, total) > 0 ? '0' : subtractDecimals(total, cumQty);
}

function knownStatus(word: string, statuses: ReadonlySet<string>): OrderStatus {
  return statuses.has(word) ? (word as OrderStatus) : 'unknown';
}

/** Several legs each have a side, and the order as a whole may have none. */
function sideOf(row: RowReader, { legs = [] }: Instrument): string {
  return legs.length > 1 ? wordOf(row, 'side') : orderWord(row.text('side'));
}

/** Several legs may come without a symbol over them: then it is the underlying of the first one. */
function readInstrument(row: RowReader): Instrument {
  const legs = readLegs(row);
  const [first] = legs;
  const told = first === undefined || legs.length < 2 ? row.text('symbol') : row.carriedText('symbol');
  const symbol = told === undefined ? underlyingText(first?.symbol ?? '') : canonicalSymbol(told);
  const type = wordOf(row, 'securityType');
  const isOption =
    legs.length > 0 ||
    wordOf(row, 'category').startsWith('option') ||
    type.startsWith('opt') ||
    type === 'mleg' ||
    (symbol.length >= shortestContract && optionRoot(symbol) !== undefined);
  if (!isOption) return { kind: 'equity', symbol };
  return legs.length === 0 ? { kind: 'option', symbol } : { kind: 'option', symbol, legs };
}

function underlyingText(leg: string): string {
  return optionRoot(leg) ?? leg;
}

function readLegs(row: RowReader): Leg[] {
  const items = row.list('legs', maxLegs);
  return items.map((item) => {
    const leg = new RowReader(item);
    const positionEffect = leg.carriedText('positionEffect');
    const decoded = {
      symbol: canonicalSymbol(leg.text('symbol')),
      side: wordOf(leg, 'side'),
      ratioQty: leg.optionalQuantity('ratioQty') ?? '1',
      ...(positionEffect !== undefined && { positionEffect: orderWord(positionEffect) }),
    };
    if (leg.fault !== undefined) row.fail('legs', leg.fault.reason, `legs with ${leg.fault.detail}`);
    return decoded;
  });
}

const knownPredictionFields: ReadonlySet<string> = new Set(Object.keys(predictionOrder.shape));
const predictionStatuses: ReadonlySet<string> = new Set(predictionStates);

/**
 * A prediction order of the platform → the normalised view (platform specification,
 * "Prediction order"). On the stream `version` is required: without it the place of the
 * event in the order's history is not known.
 */
function decodePredictionOrder(
  row: RowReader,
  accountId: string,
  version: unknown,
  versionRequired: boolean,
): DecodedOrder {
  const view = readView(row, accountId);
  const sourceVersion = readVersion(row, version, versionRequired);
  return sourceVersion === undefined ? { view } : { view, sourceVersion };
}

function readVersion(row: RowReader, version: unknown, required: boolean): bigint | undefined {
  if (version === undefined || version === null || version === '') {
    if (required) row.fail('version', 'missing_version', 'an int64');
    return undefined;
  }
  const parsed = typeof version === 'string' ? parseVersion(version) : undefined;
  if (parsed === undefined) row.fail('version', 'bad_version', 'an int64 from 0 on');
  return parsed;
}

function readView(row: RowReader, accountId: string): Whole<OrderView> {
  const word = statusWord(row.text('state'));
  const status = knownStatus(word, predictionStatuses);
  const quantity = row.quantity('quantity');
  const working = row.optionalQuantity('workingQuantity') ?? quantity;
  const cumQty = filledOf(row, working, status);
  const averagePrice = row.carriedDecimal('avgPx');
  const price = nonZero(row, 'price');
  const stopPrice = nonZero(row, 'stopPx');
  const workingPrice = nonZero(row, 'workingPrice');
  const workingOrderType = row.carriedText('workingOrderType');
  return {
    stream: 'prediction',
    orderId: row.id('orderId'),
    accountId: row.optionalId('accountId') ?? accountId,
    instrument: {
      kind: 'prediction',
      symbol: canonicalSymbol(row.text('symbol')),
      outcome: row.text('outcome').toUpperCase(),
    },
    side: orderWord(row.text('side')),
    orderType: wordOf(row, 'orderType'),
    timeInForce: wordOf(row, 'timeInForce'),
    status,
    statusRaw: word,
    certainty: orderWord(row.optionalText('certainty') ?? 'certain'),
    certaintyReason: row.carriedText('certaintyReason'),
    pendingAction: orderWord(row.optionalText('pendingAction') ?? 'none'),
    quantity,
    price,
    stopPrice,
    working: {
      quantity: working,
      ...(workingPrice !== undefined && { price: workingPrice }),
      ...(workingOrderType !== undefined && { orderType: orderWord(workingOrderType) }),
    },
    cumQty,
    leavesQty: leavesOf(row, working, cumQty, status),
    // The table calls avgPx required, its text says that optional decimals are never zero: a zero
    // before the first fill is not a price.
    avgPrice: cumQty === '0' ? undefined : averagePrice,
    clOrdId: row.carriedText('clOrdId'),
    clientOrderRef: row.carriedText('clientOrderRef'),
    venueOrderId: row.carriedText('venueOrderId'),
    placedBy: row.carriedText('placedBy'),
    rejectReason: row.carriedText('rejectReason'),
    rejectText: row.carriedText('rejectText'),
    createdAt: row.carriedInstant('createdAt'),
    updatedAt: row.instant('updatedAt'),
    sentAt: row.carriedInstant('sentAt'),
    firstAckAt: row.carriedInstant('firstAckAt'),
    closedAt: row.carriedInstant('closedAt'),
    expireTime: row.carriedInstant('expireTime'),
    extra: row.extra(knownPredictionFields),
  };
}

/** The facts about a row that its content does not give. */
export interface RowOrigin {
  readonly stream: Stream;
  readonly cause: Cause;
  /** The account whose stream or list brought it. */
  readonly accountId: string;
  readonly sourceEpoch: number;
  readonly observedAtMs: number;
  readonly receivedMs: number;
  readonly bytes: number;
  readonly overrules?: number;
  readonly urgent?: true;
  readonly onDoubt?: Observation['onDoubt'] | undefined;
  /** Called with an order if its id needs a further look. */
  readonly onOddId?: ((view: OrderView) => void) | undefined;
  readonly upTo?: Observation['upTo'];
}

/** The row is another account's than its stream or list: dropped and alarmed, never stored. */
export interface ForeignRow {
  readonly kind: 'foreign';
  readonly accountId: string;
}

/**
 * The order has no id of its own yet: some platforms show all orders under one until they are
 * acknowledged, and no order owns it. It is followed from the row on with its own id.
 */
interface UnacknowledgedRow {
  readonly kind: 'unacknowledged';
  readonly orderId: string;
}

/**
 * A row of the platform, from a stream event or a REST answer alike → an item for ingest. Never
 * throws. `raw` is called only when the row cannot be read.
 */
export function decodeOrder(
  row: unknown,
  origin: RowOrigin,
  raw: () => string,
): Observation | Unreadable | ForeignRow | UnacknowledgedRow {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
    return unreadable(origin, { reason: 'not_an_object', detail: 'expected an order object' }, raw, undefined);
  }
  const fields = row as Readonly<Record<string, unknown>>;
  const named = fields['accountId'];
  const namedAccount = typeof named === 'number' ? String(named) : named;
  if (typeof namedAccount === 'string' && namedAccount !== '' && namedAccount !== origin.accountId) {
    return { kind: 'foreign', accountId: namedAccount };
  }
  const temporary = temporaryId(origin.stream, fields);
  if (temporary !== undefined) return { kind: 'unacknowledged', orderId: temporary };
  const reader = new RowReader(fields);
  const decoded =
    origin.stream === 'account'
      ? decodeAccountOrder(reader, origin.accountId)
      : decodePredictionOrder(reader, origin.accountId, fields['version'], origin.cause === 'stream');
  if (reader.fault !== undefined) return unreadable(origin, reader.fault, raw, nameOf(origin.stream, fields));
  if (reader.hasOddId) origin.onOddId?.(decoded.view);
  return observation(decoded, origin);
}

const placeholder = /^(?:0*|-+|pending|none|null|nil|undefined|n\/?a|unknown|unassigned)$/i;

/** Only before the acknowledgement: a platform may count its orders from 0. */
function temporaryId(stream: Stream, fields: Readonly<Record<string, unknown>>): string | undefined {
  const [id, status] =
    stream === 'account' ? [fields['ordId'], fields['ordStatus']] : [fields['orderId'], fields['state']];
  const text = String(id ?? '').trim();
  if (text.length > maxPlaceholder || !placeholder.test(text)) return undefined;
  return typeof status === 'string' && statusWord(status.trim()) === 'pending_new' ? text : undefined;
}

/** Nearly every id is longer. */
const maxPlaceholder = 16;

function observation(decoded: DecodedOrder, origin: RowOrigin): Observation {
  return {
    kind: 'order',
    cause: origin.cause,
    view: decoded.view,
    sourceVersion: decoded.sourceVersion,
    sourceEpoch: origin.sourceEpoch,
    overrules: origin.overrules,
    urgent: origin.urgent,
    onDoubt: origin.onDoubt,
    upTo: origin.upTo,
    observedAtMs: origin.observedAtMs,
    receivedMs: origin.receivedMs,
    bytes: origin.bytes,
  };
}

function unreadable(origin: RowOrigin, fault: Fault, raw: () => string, orderId: string | undefined): Unreadable {
  return {
    kind: 'unreadable',
    cause: origin.cause,
    stream: origin.stream,
    reason: fault.reason,
    detail: fault.detail,
    raw: cutRaw(textOf(raw)),
    accountId: origin.accountId,
    ...(orderId !== undefined && { orderId }),
    observedAtMs: origin.observedAtMs,
    receivedMs: origin.receivedMs,
    bytes: origin.bytes,
  };
}

/** A row nested deep enough overflows the stack when it is written out again. */
function textOf(raw: () => string): string {
  try {
    return raw();
  } catch (error) {
    return `(cannot be shown: ${error instanceof Error ? error.message : 'unknown'})`;
  }
}

/** The order in a row's name, if at least the name can be read. */
function nameOf(stream: Stream, fields: Readonly<Record<string, unknown>>): string | undefined {
  const reader = new RowReader(fields);
  const orderId = reader.id(stream === 'account' ? 'ordId' : 'orderId');
  return reader.fault === undefined ? orderId : undefined;
}

/** The part kept from an unreadable thing: 64 KiB, and nothing Postgres refuses. */
export function cutRaw(text: string): string {
  return storableText(text.length > 65_536 ? text.slice(0, 65_536) : text);
}
