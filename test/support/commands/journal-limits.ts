import { isDeepStrictEqual } from 'node:util';
import { type Command, isFinal } from '../../../src/domain/command.ts';
import { canonicalTerms } from '../../../src/domain/command-checks.ts';
import {
  addDecimals,
  compareDecimals,
  type Decimal,
  divideDecimals,
  multiplyDecimals,
  wholeRoundedUp,
} from '../../../src/domain/decimal.ts';
import {
  type Bounds,
  type LimitBreach,
  type LimitName,
  type LimitReading,
  type LimitRow,
  requiredLimits,
  usualQuoteAgeMs,
} from '../../../src/domain/limits.ts';
import type { Measure } from '../../../src/domain/measure-command.ts';
import type { Order, Stream } from '../../../src/domain/order.ts';
import { canonicalSymbol, optionRoot, symbolLetters } from '../../../src/domain/symbol.ts';
import type { AuditTrailEntry, NewCommand } from '../../../src/store/commands/command-journal.ts';
import type { JudgedCommand } from '../../../src/store/commands/journal-preview.ts';
import type { LimitsChange } from '../../../src/store/commands/stops-journal.ts';
import type { JournaledOrders } from './journaled-orders.ts';

/** The limits of a journal in memory. */
export class MemoryLimits {
  rows: readonly LimitRow[] = [];
  /** What each command would add to its account, as it was valued when it was journaled. */
  private readonly exposures = new Map<string, Decimal | null>();
  /**
   * How many changes there were when each command was judged, and at the newest change of each row.
   */
  private changes = 0;
  private readonly judgedBy = new Map<string, number>();
  private readonly changedAt = new WeakMap<LimitRow, number>();

  value({ commandId, measure }: NewCommand): void {
    this.judgedBy.set(commandId, this.changes);
    this.exposures.set(commandId, measure?.exposure ?? null);
  }

  /**
   * The line of the audit trail; undefined: the bounds are not
   * any more what the change was decided on.
   */
  change({
    before,
    bounds,
    by,
    reason,
    requestId,
    atMs,
    principal,
    accountId,
    approval,
  }: LimitsChange): AuditTrailEntry | undefined {
    const isOfScope = (row: LimitRow) => row.principal === principal && row.accountId === accountId;
    if (!isDeepStrictEqual(this.rows.find(isOfScope)?.bounds ?? {}, before)) return undefined;
    const account = accountId === undefined ? {} : { accountId };
    const row = {
      ...(principal !== undefined && { principal }),
      ...account,
      bounds,
      changedBy: by,
      reason,
      changedAtMs: atMs,
    };
    this.changes += 1;
    this.changedAt.set(row, this.changes);
    const others = this.rows.filter((each) => !isOfScope(each));
    this.rows = (Object.keys(bounds).length === 0 ? others : [...others, row]).sort((a, b) =>
      placeOf(a) < placeOf(b) ? -1 : 1,
    );
    const detail = {
      ...(principal !== undefined && { of: principal }),
      ...(approval !== undefined && { approvedBy: approval.by }),
      before,
      after: bounds,
    };
    return { atMs, principal: by, action: 'change_limits', ...account, requestId, reason, detail };
  }

  /** A row that concerns the command was changed after it was judged. */
  changedSince(commandId: string, of: string, account: string): boolean {
    const judgedBy = this.judgedBy.get(commandId) ?? 0;
    return this.rows.some(
      (row) =>
        (row.principal ?? of) === of &&
        (row.accountId ?? account) === account &&
        (this.changedAt.get(row) ?? 0) > judgedBy,
    );
  }

  judge(asked: NewCommand, all: readonly Command[], orders: JournaledOrders): LimitBreach | undefined {
    const broken = this.weigh(asked, all, orders).find((reading) => reading.broken);
    if (broken === undefined) return undefined;
    const { broken: _broken, ...breach } = broken;
    return breach;
  }

  /** What every limit that applies says, in the order in which they are judged. */
  weigh(asked: JudgedCommand, all: readonly Command[], orders: JournaledOrders): readonly LimitReading[] {
    const { accountId } = asked.request;
    const bound = (commandId: string) => orders.boundOrders(new Set([commandId]));
    const commands = all.filter(({ request }) => request.accountId === accountId);
    const open = this.rows.length === 0 ? [] : orders.openOrders(accountId, undefined, Number.POSITIVE_INFINITY);
    return weighLimits(asked, this.rows, {
      commands,
      openOrders: open.flatMap(({ stream, orderId }) => orders.readOrder(stream, orderId)?.order ?? []),
      exposureOf: (commandId) => this.exposures.get(commandId) ?? null,
      isBound: (commandId) => bound(commandId).some(({ matches }) => matches),
      placedBy: (order) => commands.find(({ commandId }) => commandId === order.commandId),
    });
  }
}

function placeOf({ principal = '', accountId = '' }: LimitRow): string {
  return JSON.stringify([principal, accountId]);
}

/** What a journal in memory holds a new command against. */
interface JournaledAccount {
  /** Every command of the account. */
  readonly commands: readonly Command[];
  readonly openOrders: readonly Order[];
  exposureOf(commandId: string): Decimal | null;
  /** The command that placed the order, once ingest has bound it. */
  placedBy(order: Order): Command | undefined;
  isBound(commandId: string): boolean;
}

type Rule = (
  asked: JudgedCommand,
  measure: Measure,
  rows: readonly LimitRow[],
  account: JournaledAccount,
) => readonly LimitReading[];

/**
 * The same rules as `weigh_limits` in Postgres, in the same order; the
 * contract of the journal holds both to them.
 */
function weighLimits(
  asked: JudgedCommand,
  all: readonly LimitRow[],
  account: JournaledAccount,
): readonly LimitReading[] {
  const { request, measure, principal, limitsRequired } = asked;
  if (request.kind === 'cancel') return [];
  const rows = all.filter(
    (row) => (row.principal ?? principal) === principal && (row.accountId ?? request.accountId) === request.accountId,
  );
  const missing = limitsRequired
    ? requiredLimits.filter((name) => rows.every(({ bounds }) => bounds[name] === undefined))
    : [];
  const required: LimitReading[] =
    missing.length === 0 ? [] : [{ limit: 'required', bound: missing.join(', '), broken: true }];
  if (rows.length === 0) return required;
  if (measure === undefined) throw new Error('a command comes without what its limits are held against');
  return [...required, ...rules.flatMap((rule) => rule(asked, measure, rows, account))];
}

const rules: readonly Rule[] = [
  (_asked, { underlyings }, rows) =>
    ofList(
      rows,
      'allowedSymbols',
      (bound) => underlyings.every((each) => bound.includes(each)),
      (bound) => underlyings.find((each) => !bound.includes(each)) ?? listText(underlyings),
    ),
  (_asked, { symbols }, rows) =>
    ofList(
      rows,
      'forbiddenSymbols',
      (bound) => symbols.every((each) => bound.every((forbidden) => lettersOf(forbidden) !== lettersOf(each))),
      () => listText(symbols),
    ),
  (_asked, { instrument }, rows) =>
    ofList(
      rows,
      'instruments',
      (bound) => bound.includes(instrument),
      () => instrument,
    ),
  (_asked, { quantity }, rows) => ofNumber(rows, 'maxQuantity', quantity),
  (_asked, measure, rows) => weighCollar(measure, rows),
  (_asked, measure, rows) => {
    const bound = tightest(rows, 'maxNotional');
    if (bound === undefined || measure.notional === undefined) return [];
    return unvalued('maxNotional', bound, measure, rows) ?? ofNumber(rows, 'maxNotional', measure.notional);
  },
  weighRate,
  weighDuplicate,
  ({ request }, _measure, rows, { openOrders, ...account }) => {
    if (request.kind !== 'place') return [];
    const placed = account.commands.filter((each) => each.request.kind === 'place' && counts(each, account));
    return ofNumber(rows, 'maxOpenOrders', String(1 + openOrders.length + placed.length));
  },
  (_asked, measure, rows, account) => weighExposure('maxSymbolExposure', measure, rows, account),
  (_asked, measure, rows, account) => weighExposure('maxAccountExposure', measure, rows, account),
];

function weighCollar(measure: Measure, rows: readonly LimitRow[]): readonly LimitReading[] {
  const bound = tightest(rows, 'collarPercent');
  const { deviationPercent, notCompared } = measure;
  if (bound === undefined || deviationPercent === undefined) return [];
  const because = { limit: 'collarPercent', bound, broken: true } as const;
  if (notCompared !== undefined) return [{ ...because, why: notCompared }];
  const why = noQuote(measure, rows) ?? (deviationPercent === null ? 'there is no quote' : undefined);
  if (why !== undefined) return [{ ...because, why, needsQuote: true }];
  return ofNumber(rows, 'collarPercent', deviationPercent);
}

function weighRate(
  { atMs, principal }: JudgedCommand,
  _measure: Measure,
  rows: readonly LimitRow[],
  { commands }: JournaledAccount,
): readonly LimitReading[] {
  const sent = commands.filter(({ createdAtMs, request }) => createdAtMs > atMs - 60_000 && request.kind !== 'cancel');
  const own = sent.filter((each) => each.principal === principal);
  const [ofAll, ofOne] = [
    rows.filter((row) => row.principal === undefined),
    rows.filter((row) => row.principal !== undefined),
  ];
  return [
    ...ofNumber(ofAll, 'ordersPerMinute', String(sent.length + 1)),
    ...ofNumber(ofOne, 'ordersPerMinute', String(own.length + 1)),
  ];
}

function weighDuplicate(
  { request, atMs, principal, supersedes }: JudgedCommand,
  _measure: Measure,
  rows: readonly LimitRow[],
  { commands }: JournaledAccount,
): readonly LimitReading[] {
  if (request.kind !== 'place') return [];
  const terms = canonicalTerms(request);
  const windows = rows.flatMap(({ bounds, ...row }) =>
    bounds.duplicateWindowMs === undefined ? [] : [{ ...row, ms: bounds.duplicateWindowMs }],
  );
  if (windows.length === 0) return [];
  const same = commands.findLast(
    (each) =>
      each.commandId !== supersedes &&
      each.state !== 'not_sent' &&
      each.state !== 'refused' &&
      canonicalTerms(each.request) === terms &&
      windows.some(
        (window) => each.createdAtMs > atMs - window.ms && (window.principal ?? each.principal) === each.principal,
      ),
  );
  const bound = String(Math.max(...windows.map(({ ms }) => ms)));
  const limit = 'duplicateWindowMs';
  if (same === undefined || principal === '') return [{ limit, bound, broken: false }];
  return [{ limit, bound, broken: true, value: `the same as command ${same.commandId}` }];
}

function weighExposure(
  limit: 'maxSymbolExposure' | 'maxAccountExposure',
  measure: Measure,
  rows: readonly LimitRow[],
  account: JournaledAccount,
): readonly LimitReading[] {
  const bound = tightest(rows, limit);
  if (bound === undefined || measure.exposure === '0') return [];
  const [symbol, other] = limit === 'maxSymbolExposure' ? measure.underlyings : [];
  const because = { limit, bound, broken: true };
  if (other !== undefined)
    return [{ ...because, why: `its legs are of several underlyings: ${listText(measure.underlyings)}` }];
  const isCounted = (stream: Stream, of: string) => {
    const own = optionRoot(canonicalSymbol(of)) ?? canonicalSymbol(of);
    const isSame = own === symbol || (stream === 'account' && symbolLetters(own) === symbolLetters(symbol ?? ''));
    return symbol === undefined || isSame;
  };
  const orders = account.openOrders.filter(({ stream, instrument }) => isCounted(stream, instrument.symbol));
  const commands = account.commands.filter(
    (each) =>
      each.request.kind !== 'cancel' &&
      counts(each, account) &&
      isCounted(each.request.stream, symbolOf(each, account)),
  );
  const values = [
    ...orders.map((order) => ({ name: `order ${order.orderId}`, value: orderValue(order, account) })),
    ...commands.map(({ commandId }) => ({ name: `command ${commandId}`, value: account.exposureOf(commandId) })),
  ];
  const missing = values
    .filter(({ value }) => value === null)
    .map(({ name }) => name)
    .sort();
  const without = unvalued(limit, bound, measure, rows);
  if (without !== undefined) return without;
  if (missing[0] !== undefined) return [{ ...because, why: `the value of ${missing[0]} is not known` }];
  return ofNumber(rows, limit, values.map(({ value }) => value ?? '0').reduce(addDecimals, measure.exposure ?? '0'));
}

/** May have been placed, and no order is known that says so; a replace counts besides its order. */
function counts({ state, request, commandId }: Command, account: Pick<JournaledAccount, 'isBound'>): boolean {
  return !isFinal(state) && (request.kind === 'replace' || !account.isBound(commandId));
}

function symbolOf({ request }: Command, { openOrders }: JournaledAccount): string {
  if (request.kind === 'place') return request.terms.symbol;
  return (
    openOrders.find((order) => order.stream === request.stream && order.orderId === request.orderId)?.instrument
      .symbol ?? ''
  );
}

/** Whether a price of its own bounds what it can cost. */
function isBounded({ side, working, price, instrument: { kind, symbol, legs = [] } }: Order): boolean {
  if (kind !== 'option' || legs.length === 1) return true;
  if (legs.length === 0) return optionRoot(symbolLetters(symbol)) !== undefined;
  const ratiosOf = (isBought: boolean) =>
    legs
      .filter((leg) => leg.side.startsWith('buy') === isBought)
      .reduce((sum, leg) => addDecimals(sum, leg.ratioQty), '0');
  const isPaid = side.startsWith('buy') && compareDecimals(working.price ?? price ?? '0', '0') > 0;
  return isPaid && compareDecimals(ratiosOf(false), ratiosOf(true)) <= 0;
}

function orderValue(order: Order, account: JournaledAccount): Decimal | null {
  const { leavesQty, side, working, price = null, stopPrice = null, instrument } = order;
  if (leavesQty === '0') return '0';
  if (order.stream === 'prediction')
    return multiplyDecimals(leavesQty, side === 'buy' ? (working.price ?? price ?? '1') : '1');
  const { legs = [] } = instrument;
  const shares =
    instrument.kind !== 'option'
      ? '1'
      : legs.length === 1
        ? multiplyDecimals('100', wholeRoundedUp(legs[0]?.ratioQty ?? '1'))
        : '100';
  const prices = [working.price ?? price, stopPrice].flatMap((each) =>
    each === null ? [] : multiplyDecimals(shares, each.replace('-', '')),
  );
  const placed = account.placedBy(order);
  const journaled = placed && account.exposureOf(placed.commandId);
  if (journaled == null && !isBounded(order)) return null;
  const asked =
    placed?.request.kind === 'place' && placed.request.stream === 'account' ? placed.request.terms.qty : undefined;
  if (journaled != null && asked !== undefined) prices.push(divideDecimals(journaled, asked) ?? '0');
  if (prices.length === 0) return null;
  return multiplyDecimals(
    leavesQty,
    prices.reduce((most, each) => (compareDecimals(each, most) > 0 ? each : most)),
  );
}

function lettersOf(symbol: string): string {
  return symbol.replace(/[^A-Z0-9]/g, '');
}

function noQuote({ quoteAgeMs }: Measure, rows: readonly LimitRow[]): string | undefined {
  const everyone = rows.find((row) => row.principal === undefined && row.accountId === undefined);
  const narrower = rows.filter((row) => row !== everyone);
  const ofEveryone = everyone?.bounds.maxQuoteAgeMs ?? usualQuoteAgeMs;
  const oldest = Math.min(ofEveryone, Number(tightest(narrower, 'maxQuoteAgeMs') ?? ofEveryone));
  if (quoteAgeMs === undefined) return 'there is no quote';
  return quoteAgeMs > oldest ? `the quote is ${quoteAgeMs} ms old, and may be ${oldest}` : undefined;
}

function unvalued(
  limit: LimitName,
  bound: string,
  measure: Measure,
  rows: readonly LimitRow[],
): readonly LimitReading[] | undefined {
  const { valuedByQuote, exposure, notValued = 'the order has no price' } = measure;
  const missing = valuedByQuote ? 'a side of the quote is missing' : notValued;
  const why = (valuedByQuote ? noQuote(measure, rows) : undefined) ?? (exposure === null ? missing : undefined);
  if (why === undefined) return undefined;
  return [{ limit, bound, broken: true, why, ...(valuedByQuote && { needsQuote: true }) }];
}

type NumberLimit = { [K in LimitName]: Bounds[K] extends readonly string[] | undefined ? never : K }[LimitName];

function tightest(rows: readonly LimitRow[], name: NumberLimit): Decimal | undefined {
  const bounds = rows.flatMap(({ bounds: { [name]: bound } }) => (bound === undefined ? [] : [String(bound)]));
  return bounds.length === 0
    ? undefined
    : bounds.reduce((least, each) => (compareDecimals(each, least) < 0 ? each : least));
}

function ofNumber(
  rows: readonly LimitRow[],
  limit: NumberLimit,
  value: Decimal | null | undefined,
): readonly LimitReading[] {
  const bound = tightest(rows, limit);
  return bound === undefined || value == null
    ? []
    : [{ limit, bound, broken: compareDecimals(value, bound) > 0, value }];
}

function ofList(
  rows: readonly LimitRow[],
  limit: 'allowedSymbols' | 'forbiddenSymbols' | 'instruments',
  holds: (bound: readonly string[]) => boolean,
  value: (bound: readonly string[]) => string,
): readonly LimitReading[] {
  const bounds = rows.flatMap(({ bounds: { [limit]: bound } }) => (bound === undefined ? [] : [bound]));
  const broken = bounds.find((bound) => !holds(bound));
  const shown = broken ?? bounds[0];
  return shown === undefined
    ? []
    : [{ limit, bound: listText(shown), broken: broken !== undefined, value: value(shown) }];
}

/** As Postgres writes a list. */
function listText(list: readonly string[]): string {
  return `[${list.map((each) => JSON.stringify(each)).join(', ')}]`;
}
