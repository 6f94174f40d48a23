import { type Command, isFinal, isOfSecurities } from './command.ts';
import { compareDecimals, type Decimal, subtractDecimals } from './decimal.ts';
import { type Order, orderWord, type Stream } from './order.ts';
import { present } from './present.ts';

/** A limit can name these instruments. */
export const instrumentKinds = ['equity', 'option', 'prediction'] as const;
export type InstrumentKind = (typeof instrumentKinds)[number];

/**
 * One row's bounds. An absent bound limits nothing. Quantities are shares or contracts. Money is in
 * `platformCurrency` (`measure-command.ts` defines how an order is valued). Symbols are upper case.
 */
export interface Bounds {
  readonly maxQuantity?: Decimal;
  readonly maxNotional?: Decimal;
  /**
   * How far from the last quote each price of an order may lie, in percent of the quote. If it is
   * set, every order needs a quote, even one without a price.
   */
  readonly collarPercent?: Decimal;
  /**
   * How old a quote may be. If the row for everyone has none it is 10 s there, and a narrower row
   * can only lower it.
   */
  readonly maxQuoteAgeMs?: number;
  readonly allowedSymbols?: readonly string[];
  readonly forbiddenSymbols?: readonly string[];
  readonly instruments?: readonly InstrumentKind[];
  /** The account's open orders, including those that may have been placed. */
  readonly maxOpenOrders?: number;
  /**
   * Money at work in one symbol of the account, both sides added up: open orders, and orders that
   * may have been placed.
   */
  readonly maxSymbolExposure?: Decimal;
  readonly maxAccountExposure?: Decimal;
  /** Places and replaces journaled within a minute. */
  readonly ordersPerMinute?: number;
  /** For this time a second place with the same terms is refused. */
  readonly duplicateWindowMs?: number;
}

export type LimitName = keyof Bounds;

/**
 * A bound lets more through in this direction. A list of allowed values lets more through when it
 * grows.
 */
const directions = {
  maxQuantity: 'higher',
  maxNotional: 'higher',
  collarPercent: 'higher',
  maxQuoteAgeMs: 'higher',
  allowedSymbols: 'longer',
  forbiddenSymbols: 'shorter',
  instruments: 'longer',
  maxOpenOrders: 'higher',
  maxSymbolExposure: 'higher',
  maxAccountExposure: 'higher',
  ordersPerMinute: 'higher',
  duplicateWindowMs: 'lower',
} as const satisfies Record<LimitName, 'higher' | 'lower' | 'longer' | 'shorter'>;

export const limitNames = Object.keys(directions) as [LimitName, ...LimitName[]];

/** An older quote is stale, unless the row for everyone says otherwise. */
const usualQuoteAgeMs = 10_000;

/**
 * A row applies to these commands. Every matching row applies: a narrower row adds bounds and lifts
 * none.
 */
export interface LimitScope {
  /** Absent: every principal. */
  readonly principal?: string;
  /** Absent: every account. */
  readonly accountId?: string;
}

/** One row: one scope's bounds. */
export interface LimitRow extends LimitScope {
  readonly bounds: Bounds;
  readonly changedBy: string;
  readonly reason: string;
  readonly changedAtMs: number;
}

/** A change to some of a row's bounds; `null` removes one. */
export type BoundsChange = { readonly [Name in LimitName]?: Bounds[Name] | null | undefined };

/** The limit a command breaks. */
export interface LimitBreach {
  /** `required`: a real account whose rows lack a required bound. */
  readonly limit: LimitName | 'required';
  /** The resulting value. Absent: it can't be computed, which refuses as well. */
  readonly value?: string;
  readonly bound: string;
  /** Why there is no value. */
  readonly why?: string;
  /** There is no value because a fresh quote is missing. */
  readonly needsQuote?: true;
}

/**
 * One limit's judgement on a command. If it is not broken and has no value, it found nothing to
 * compare.
 */
export interface LimitReading extends LimitBreach {
  readonly broken: boolean;
}

/** A real account must have these bounds before anything is placed on it. */
export const requiredLimits = ['maxQuantity', 'maxNotional', 'ordersPerMinute'] as const satisfies readonly LimitName[];

/** The breach in a sentence. */
export function describeBreach({ limit, value, bound, why }: LimitBreach, accountId: string): string {
  if (limit === 'required')
    return `a real account is traded only under limits, and it has none for ${bound}: run tidemark limits set --account ${accountId} --max-quantity N --max-notional N --orders-per-minute N --reason TEXT`;
  if (value === undefined) return `the limit ${limit} (${bound}) can't be evaluated: ${why ?? 'a value is missing'}`;
  return `the limit ${limit} is ${bound}, and with this command it would be ${value}`;
}

/** The row's bounds after a change. */
export function changedBounds(before: Bounds, change: BoundsChange): Bounds {
  const next = { ...before, ...change };
  return Object.fromEntries(Object.entries(next).filter(([, bound]) => bound !== null && bound !== undefined));
}

/**
 * Whether a change to the row of `scope` lets through anything the row held back before. A change
 * can let more through in another way too: see `opens`.
 */
export function loosens(before: Bounds, after: Bounds, scope: LimitScope = {}): boolean {
  return limitNames.some((name) => {
    // The row for everyone has this bound even if it does not say so.
    const usual = name === 'maxQuoteAgeMs' && isOfEveryone(scope) ? usualQuoteAgeMs : undefined;
    return isLooser(name, before[name] ?? usual, after[name] ?? usual);
  });
}

/**
 * Whether a change to the row of `scope` gives a bound a real account must have (`requiredLimits`)
 * to anyone without it. Each such bound is a part of opening the account, so each counts, and not
 * only the last: the first ones could be set without a limit worth the name. `rows`: every row as
 * it is now.
 */
export function opens(rows: readonly LimitRow[], scope: LimitScope, before: Bounds, after: Bounds): boolean {
  const wider = rows.filter((row) => isWider(row, scope));
  return requiredLimits.some(
    (name) =>
      before[name] === undefined &&
      after[name] !== undefined &&
      wider.every(({ bounds }) => bounds[name] === undefined),
  );
}

/** Every command in `scope` is also in `row`. */
function isWider(row: LimitScope, { principal, accountId }: LimitScope): boolean {
  if (row.principal === principal && row.accountId === accountId) return false;
  return (row.principal ?? principal) === principal && (row.accountId ?? accountId) === accountId;
}

function isOfEveryone({ principal, accountId }: LimitScope): boolean {
  return principal === undefined && accountId === undefined;
}

function isLooser(name: LimitName, before: Bounds[LimitName], after: Bounds[LimitName]): boolean {
  if (before === undefined) return false;
  if (after === undefined) return true;
  const direction = directions[name];
  if (direction === 'longer') return hasMore(after, before);
  if (direction === 'shorter') return hasMore(before, after);
  const order = compareDecimals(String(after), String(before));
  return direction === 'higher' ? order > 0 : order < 0;
}

function hasMore(list: unknown, other: unknown): boolean {
  return (list as readonly string[]).some((each) => !(other as readonly string[]).includes(each));
}

/** The quantity one command would add to the market if it was applied. */
interface Exposure {
  readonly accountId: string;
  readonly stream: Stream;
  readonly symbol: string;
  /** Prediction markets only. */
  readonly outcome?: string;
  /** As orders write it. */
  readonly side: string;
  readonly quantity: Decimal;
}

/**
 * A command's exposure while it is not over, as if it were live; undefined if it adds nothing. A
 * place counts until its order is observed, also after it was accepted (there is no order to count
 * yet) and while it is presumed absent (that frees nothing). A replace counts with the rise of the
 * total above the working one. `order`: the order a replace named, as it is now. Without it the
 * baseline gives the working quantity, but not the instrument.
 */
export function commandExposure({ request, state, orderId }: Command, order?: Order): Exposure | undefined {
  if (isFinal(state) || request.kind === 'cancel') return undefined;
  const { accountId, stream } = request;
  if (request.kind === 'place') {
    if (orderId !== undefined) return undefined;
    if (isOfSecurities(request)) {
      const { symbol, side, qty: quantity } = request.terms;
      return { accountId, stream, symbol, side: orderWord(side), quantity };
    }
    const { symbol, outcome, side, quantity } = request.terms;
    return { accountId, stream, symbol, outcome, side, quantity };
  }
  const asked = request.terms.quantity;
  const worked = order?.working.quantity ?? '0';
  if (order === undefined || asked === undefined || compareDecimals(asked, worked) <= 0) return undefined;
  const { instrument, side } = order;
  return {
    accountId,
    stream,
    symbol: instrument.symbol,
    ...present({ outcome: instrument.outcome }),
    side,
    quantity: subtractDecimals(asked, worked),
  };
}
