import type { Decimal } from './decimal.ts';
import { traits } from './streams.ts';

/** Each is a row in `streams.ts`. */
export type Stream = keyof typeof traits;

export const streams: readonly [Stream, ...Stream[]] = Object.keys(traits) as [Stream, ...Stream[]];

/** A stream's name, whole. */
export const streamPattern = new RegExp(`^(?:${streams.join('|')})$`);

/**
 * One enum for both streams: the prediction `state` values (specification, "States and
 * transitions") plus `replaced` and `suspended`, which only account orders know. A status we don't
 * know is `unknown`; `statusRaw` keeps the platform's word.
 */
export type OrderStatus = keyof typeof statusRanks;

const terminalRank = 6;

/**
 * Decides between two views of one order that agree on cumQty and updatedAt: how far along its life
 * each is.
 */
const statusRanks = {
  pending_new: 1,
  new: 2,
  partially_filled: 5,
  filled: terminalRank,
  canceled: terminalRank,
  rejected: terminalRank,
  expired: terminalRank,
  replaced: terminalRank,
  done_for_day: 3,
  suspended: 4,
  unknown: 0,
} as const;

export const orderStatuses = Object.keys(statusRanks) as [OrderStatus, ...OrderStatus[]];

export type TerminalStatus = (typeof terminalPrecedence)[number];

export interface Leg {
  /** Compact OCC option symbol, in its one form. */
  readonly symbol: string;
  readonly side: string;
  readonly ratioQty: Decimal;
  readonly positionEffect?: string;
}

export interface Instrument {
  readonly kind: 'equity' | 'option' | 'prediction';
  readonly symbol: string;
  /** Prediction markets only: `YES` or `NO`. */
  readonly outcome?: string;
  /** Options only: one leg, or two to four. */
  readonly legs?: readonly Leg[];
}

/**
 * The venue's answer to the submitted terms. Account orders make no such distinction: there it
 * repeats the terms.
 */
export interface WorkingTerms {
  readonly quantity?: Decimal | undefined;
  readonly price?: Decimal;
  readonly orderType?: string;
}

/**
 * One order's content as one source gave it, normalised. Decimals are canonical strings, instants
 * the platform's own ISO 8601 text (already proven to parse), words in lower case (`orderWord`),
 * symbols in their one form (`canonicalSymbol`), texts without blanks around them. Undefined means
 * absent at the source: never zero, never empty.
 */
export interface OrderView {
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
  readonly instrument: Instrument;
  readonly side: string;
  readonly orderType: string;
  readonly timeInForce: string;
  readonly status: OrderStatus;
  /** The platform's own word for the status, in the spelling of its documents (`statusWord`). */
  readonly statusRaw: string;
  /** One of the platform's four values; `certain` if the source does not say. */
  readonly certainty: string;
  readonly certaintyReason?: string | undefined;
  readonly pendingAction: string;
  /** Absent: the order is for an amount of money, `notional`. */
  readonly quantity?: Decimal | undefined;
  readonly notional?: Decimal | undefined;
  readonly price?: Decimal | undefined;
  readonly stopPrice?: Decimal | undefined;
  readonly working: WorkingTerms;
  readonly cumQty: Decimal;
  /** Absent: an order for an amount is at work. */
  readonly leavesQty?: Decimal | undefined;
  readonly avgPrice?: Decimal | undefined;
  readonly clOrdId?: string | undefined;
  readonly clientOrderRef?: string | undefined;
  readonly venueOrderId?: string | undefined;
  /** The orders before and after it, if a replace makes a new order. */
  readonly replaces?: string | undefined;
  readonly replacedBy?: string | undefined;
  readonly placedBy?: string | undefined;
  readonly rejectReason?: string | undefined;
  readonly rejectText?: string | undefined;
  readonly createdAt?: string | undefined;
  readonly updatedAt: string;
  readonly sentAt?: string | undefined;
  readonly firstAckAt?: string | undefined;
  readonly closedAt?: string | undefined;
  readonly expireTime?: string | undefined;
  /** Fields we don't know, as they came. Carried, never compared. */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The normalised order: the join over all views so far, with our own fields. Its JSON is `state` in
 * Postgres and `order` on Kafka.
 */
export interface Order extends OrderView {
  /** Ours (a command's attempt), or placed elsewhere. */
  readonly origin: 'tidemark' | 'external';
  readonly commandId?: string | undefined;
  readonly callerRef?: string | undefined;
  /** Rises when the platform lost its store and versions may have restarted. Absent: 0. */
  readonly sourceEpoch?: number | undefined;
  /**
   * The platform gave the id again: 2, 3 … for each further order under it. Absent: the first one.
   */
  readonly incarnation?: number | undefined;
  /**
   * Two different terminal statuses were seen, or a terminal one contradicts the quantities. A
   * person should look.
   */
  readonly conflict?: string | undefined;
}

/**
 * A view or an order with every field set, undefined ones too. V8 reads objects of one shape much
 * faster than objects of many: with fields set only where they are present, decoding took a fifth
 * more, and reduction with encoding a quarter.
 */
export type Whole<T> = { readonly [K in keyof Required<T>]: T[K] };

/** An order that nothing else holds yet. */
export type Composed = { -readonly [K in keyof Whole<Order>]: Whole<Order>[K] };

/**
 * A row for each field of an order, in the order that `changed` names them. The code that composes
 * and compares orders is generated from it (`order-code.ts`): a loop over names took 1,000 ns where
 * the generated code takes 30. A new field is a line in `OrderView`, a row here and a line in
 * `contract/normalised-order.ts`: the compiler asks for all three.
 */
export interface FieldRule {
  /** Instants are compared by value, `working` and `instrument` by their parts, others as text. */
  readonly kind: 'text' | 'decimal' | 'instant' | 'natural' | 'own form';
  /** They come first in the JSON. `but for an amount`: an order for money has none. */
  readonly required?: true | 'but for an amount';
  /** Ours, and not the platform's. */
  readonly own?: true;
  /**
   * The group it belongs to in the content of a view, by which views of one instant are compared.
   * Left out: it names the order, or is no content.
   */
  readonly content?: 'state' | 'terms' | 'filled' | 'references' | 'history' | 'expiry';
  /**
   * A register of account orders: once learnt, from any source, it stays.
   *
   * - `revising`: learning it makes a revision.
   * - `remembered`: one kind of source alone has it (list rows have createdAt, events don't). If it
   *   made a revision, the first audit would revise every order. The next revision with another
   *   reason shows it. So arrival order may matter for it, as it may for `extra`.
   */
  readonly register?: 'revising' | 'remembered';
}

export const orderTable = {
  stream: { kind: 'own form', required: true },
  orderId: { kind: 'text', required: true },
  accountId: { kind: 'text', required: true },
  instrument: { kind: 'own form', required: true },
  side: { kind: 'text', required: true },
  orderType: { kind: 'text', required: true, content: 'terms' },
  timeInForce: { kind: 'text', required: true, content: 'terms' },
  status: { kind: 'own form', required: true, content: 'state' },
  statusRaw: { kind: 'text', required: true, content: 'state' },
  certainty: { kind: 'text', required: true, content: 'state' },
  certaintyReason: { kind: 'text', content: 'state' },
  pendingAction: { kind: 'text', required: true, content: 'state' },
  quantity: { kind: 'decimal', required: 'but for an amount', content: 'terms' },
  notional: { kind: 'decimal', content: 'terms' },
  price: { kind: 'decimal', content: 'terms' },
  stopPrice: { kind: 'decimal', content: 'terms' },
  working: { kind: 'own form', required: true, content: 'terms' },
  cumQty: { kind: 'decimal', required: true, content: 'filled' },
  leavesQty: { kind: 'decimal', required: 'but for an amount', content: 'filled' },
  avgPrice: { kind: 'decimal', content: 'filled' },
  expireTime: { kind: 'instant', content: 'expiry' },
  origin: { kind: 'own form', required: true, own: true },
  updatedAt: { kind: 'instant', required: true },
  clOrdId: { kind: 'text', content: 'references', register: 'revising' },
  clientOrderRef: { kind: 'text', content: 'references', register: 'revising' },
  venueOrderId: { kind: 'text', content: 'references', register: 'revising' },
  replaces: { kind: 'text', content: 'references', register: 'revising' },
  replacedBy: { kind: 'text', content: 'references', register: 'revising' },
  placedBy: { kind: 'text', content: 'references', register: 'remembered' },
  commandId: { kind: 'text', own: true },
  callerRef: { kind: 'text', own: true },
  sourceEpoch: { kind: 'natural', own: true },
  incarnation: { kind: 'natural', own: true },
  rejectReason: { kind: 'text', content: 'references', register: 'revising' },
  rejectText: { kind: 'text', content: 'references', register: 'revising' },
  createdAt: { kind: 'instant', content: 'history', register: 'remembered' },
  sentAt: { kind: 'instant', content: 'history', register: 'remembered' },
  firstAckAt: { kind: 'instant', content: 'history', register: 'remembered' },
  closedAt: { kind: 'instant', content: 'history', register: 'remembered' },
  conflict: { kind: 'text', own: true },
  extra: { kind: 'own form' },
} as const satisfies { readonly [K in keyof Required<Order>]: FieldRule };

type Table = typeof orderTable;

/** The fields with these values in their rule. */
export type FieldsWith<Rule> = { [K in keyof Table]: Table[K] extends Rule ? K : never }[keyof Table];

/** Fields only we know. */
export type OwnFields = Pick<Order, FieldsWith<{ own: true }>>;

export type RegisterField = FieldsWith<{ register: string }> & keyof OrderView;

export function fieldsWhere(isWanted: (rule: FieldRule, field: keyof Order) => boolean): (keyof Order)[] {
  const fields = Object.keys(orderTable) as (keyof Order)[];
  return fields.filter((field) => isWanted(orderTable[field], field));
}

/** The order's key on Kafka and everywhere in memory: `<stream>:<orderId>`. */
export function orderKey(stream: Stream, orderId: string): string {
  return `${stream}:${orderId}`;
}

/**
 * If several terminal statuses were seen, the first of these is shown (docs/merging.md, "Account
 * orders").
 */
export const terminalPrecedence = ['filled', 'replaced', 'canceled', 'expired', 'rejected'] as const;

/**
 * Only a correction can follow it. `done_for_day` and `suspended` orders may work again; `unknown`
 * proves nothing.
 */
export function isTerminal(status: OrderStatus): status is TerminalStatus {
  return statusRanks[status] === terminalRank;
}

export function statusRank(status: OrderStatus): number {
  return statusRanks[status];
}

const maxInt64 = 2n ** 63n - 1n;
const plain = /^(?:0|[1-9]\d{0,18})$/;

/**
 * A platform version from its digits as they stood in the source (`JSON.parse` merges neighbours
 * above 2^53). Plain digits, 0 to 2^63 − 1, nothing else: no sign, no fraction, no exponent, no
 * leading zero. Specification: "version", int64.
 */
export function parseVersion(sourceDigits: string): bigint | undefined {
  if (!plain.test(sourceDigits)) return undefined;
  const version = BigInt(sourceDigits);
  return version <= maxInt64 ? version : undefined;
}

/**
 * A platform word (a side, a type, a time in force) as order records write it: in lower case on
 * both streams. The platform writes account orders in capitals and prediction orders in small
 * letters. No word is lost: the platform has no two that differ in case alone (decision 033), or in
 * what joins their parts (`STOP LIMIT`, `stop-limit`).
 */
export function orderWord(platformWord: string): string {
  const word = platformWord.toLowerCase();
  return gaps.test(word) ? word.replaceAll(allGaps, '_') : word;
}

/** A word of an account order that the platform leaves out is `unknown`: it denies no other. */
export function isTold(word: unknown): boolean {
  return word !== 'unknown';
}

const gaps = /[ -]/;
const allGaps = /[ -]+/g;

/** A word for a status, which has two spellings of its own besides. */
export function statusWord(platformWord: string): string {
  const word = orderWord(platformWord);
  return word === 'cancelled' ? 'canceled' : word;
}
