import { z } from 'zod';
import type { Random } from '../../runtime/random.ts';
import { probability } from '../bounded.ts';

const symbol = z.string().min(1).max(21);

/**
 * How the platform words each answer and each frame. The orders stay the same, in words that
 * another platform may use. Probabilities are per field or object.
 */
export const wireWords = z.strictObject({
  /** An absent optional field comes as null or as an empty text. */
  nulls: probability.optional(),
  /** An object has undocumented fields. */
  extras: probability.optional(),
  /** A decimal is a JSON number, or has zeros behind it up to forty digits. */
  numbers: probability.optional(),
  /**
   * An order for one option has a contract's symbol in place of the underlying's, always the one
   * for December 2026 at 200.
   */
  contracts: z.boolean().optional(),
  /** The root in a contract's symbol is padded with blanks. */
  padded: probability.optional(),
  /**
   * An average price has forty digits, and the last is not zero. Always the same ones for one
   * average in one order.
   */
  longAverages: z.boolean().optional(),
  /** `updatedAt` ends at the second. */
  coarse: z.boolean().optional(),
  /** An account order that is filled in part is called so, also while a request is pending. */
  fillWords: z.boolean().optional(),
  /**
   * A new order's id has characters that mean something in an address, a table or a shell, on both
   * streams.
   */
  ids: z.boolean().optional(),
  /** Symbols, and option roots, with another name from now on. */
  renamed: z.record(symbol, symbol).optional(),
});

type WireWords = z.infer<typeof wireWords>;

/**
 * `JSON.rawJSON` and a number's source are missing in the language's types. With them a version
 * with 19 digits stays as it is.
 */
const json = JSON as unknown as {
  rawJSON(text: string): object;
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
};

type Fields = Record<string, unknown>;

/** Around an id that is one already. A platform address may have all of them. */
const oddIds: readonly (readonly [before: string, after: string])[] = [
  ['', '/1'],
  ['a%2F', ''],
  ['', '?y=1#z'],
  ['é ', ' ü'],
  ['-', ''],
  ['=', ':A|B;c'],
  ["o'", '"\\'],
  ['.', '..'],
  ['+', '%'],
  ['注文 ', ''],
];

const digits = 40;
const option = /^([A-Z0-9.]{1,6}) *(\d{6}[CP]\d{8})$/;
const decimals = new Set([
  ...['qty', 'cumQty', 'leavesQty', 'avgPrice', 'price', 'stopPrice', 'ratioQty'],
  ...['quantity', 'workingQuantity', 'avgPx', 'stopPx', 'workingPrice'],
  ...['filled_qty', 'filled_avg_price', 'limit_price', 'stop_price', 'notional'],
]);
const averages = new Set(['avgPrice', 'avgPx', 'filled_avg_price']);

/**
 * The fields that an object may leave out, by a field that identifies it. The first that fits
 * counts.
 */
const optional: readonly (readonly [mark: string, fields: readonly string[]])[] = [
  ['ordId', ['price', 'stopPrice', 'text', 'ordRejReason', 'accountId', 'createdAt', 'legs']],
  [
    'orderId',
    [
      ...[
        'certaintyReason',
        'clientOrderRef',
        'closedAt',
        'expireTime',
        'firstAckAt',
        'price',
        'stopPx',
        'rejectReason',
      ],
      ...['rejectText', 'sentAt', 'venueOrderId', 'workingPrice', 'placedBy'],
    ],
  ],
  ['orders', ['nextCursor']],
  ['access_token', ['refresh_token', 'scope']],
  ['transactTime', ['text', 'ordRejReason']],
];

/**
 * The platform's words. Invariant: the facts that a reader needs about an order are the same in
 * each of its texts, so that lists, streams and `GET /state` agree; only meaningless parts are
 * drawn.
 */
export class Wire {
  private words: WireWords = {};
  private readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  set(words: WireWords): void {
    this.words = { ...this.words, ...words };
  }

  heal(): void {
    this.words = {};
  }

  describe(): WireWords {
    return this.words;
  }

  /** A new order's id: the same one for the same `given`. */
  idOf(given: string): string {
    if (this.words.ids !== true) return given;
    const [before, after] = oddIds[Number.parseInt(given.slice(-4), 16) % oddIds.length] ?? ['', ''];
    return before + given + after;
  }

  /** A JSON text in the platform's present words. It costs nothing while there are none. */
  worded(text: string): string {
    if (Object.keys(this.words).length === 0) return text;
    const body = json.parse(text, (_key, value, { source }) =>
      typeof value === 'number' && source !== undefined ? json.rawJSON(source) : value,
    );
    return JSON.stringify(this.reworded(body));
  }

  private reworded(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.reworded(item));
    if (typeof value !== 'object' || value === null || 'rawJSON' in value) return value;
    const fields = value as Fields;
    for (const [name, field] of Object.entries(fields)) fields[name] = this.reworded(field);
    if (typeof fields['symbol'] === 'string')
      fields['symbol'] = this.symbol(fields['symbol'], fields['securityType'] === 'OPT');
    this.order(fields);
    this.nothings(fields);
    if (this.draws(this.words.extras))
      Object.assign(fields, { x_trace: 'a1', x_meta: { region: null, shard: 7, notes: [] } });
    return fields;
  }

  private order(fields: Fields): void {
    const { longAverages, coarse, fillWords } = this.words;
    const isPending = String(fields['ordStatus']).startsWith('PENDING_') && fields['ordStatus'] !== 'PENDING_NEW';
    if (fillWords === true && isPending && Number(fields['cumQty']) > 0) fields['ordStatus'] = 'PARTIALLY_FILLED';
    for (const [name, value] of Object.entries(fields)) {
      if (!decimals.has(name) || typeof value !== 'string') continue;
      fields[name] = this.decimal(longAverages === true && averages.has(name) ? longAverage(value) : value);
    }
    for (const name of ['updatedAt', 'updated_at']) {
      const at = fields[name];
      if (coarse === true && typeof at === 'string') fields[name] = at.replace(/\.\d+Z$/, 'Z');
    }
  }

  private decimal(text: string): unknown {
    if (!/^\d/.test(text) || !this.draws(this.words.numbers)) return text;
    const long = this.random.next() < 0.5 ? text : paddedTo(digits, text);
    return this.random.next() < 0.5 ? long : json.rawJSON(long);
  }

  private symbol(shown: string, isOption: boolean): string {
    const { renamed = {}, contracts } = this.words;
    const value = isOption && contracts === true ? `${shown.replace('.', '')}261218C00200000` : shown;
    const [, root, rest] = option.exec(value) ?? [];
    if (root === undefined || rest === undefined) return renamed[value] ?? value;
    const name = renamed[root] ?? root;
    return (this.draws(this.words.padded) ? name.padEnd(6) : name) + rest;
  }

  private nothings(fields: Fields): void {
    const { nulls } = this.words;
    const [, names = []] = optional.find(([mark]) => mark in fields) ?? [];
    for (const name of names)
      if (!(name in fields) && this.draws(nulls)) fields[name] = this.random.next() < 0.5 ? null : '';
    const { orders } = fields;
    if (Array.isArray(orders) && orders.length === 0 && this.draws(nulls)) fields['orders'] = null;
  }

  private draws(rate: number | undefined): boolean {
    return rate !== undefined && rate > 0 && this.random.next() < rate;
  }
}

function paddedTo(count: number, text: string): string {
  const [whole = '', fraction = ''] = text.split('.');
  return `${whole}.${fraction.padEnd(Math.max(1, count - whole.length), '0')}`;
}

/** As it is and a little more, so that no double has it. */
function longAverage(text: string): string {
  return Number(text) === 0 ? text : `${paddedTo(digits - 1, text)}7`;
}
