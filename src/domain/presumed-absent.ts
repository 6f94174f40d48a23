import {
  type AccountPlaceTerms,
  type Attempt,
  type Command,
  isOfSecurities,
  madeOrder,
  makesOrder,
  type PredictionPlaceTerms,
} from './command.ts';
import { msOf } from './instant.ts';
import { type Order, orderWord } from './order.ts';
import { sameLetters, sameSymbol } from './symbol.ts';

/**
 * A read, by account or by reference, that was complete and reached its end. Failed and partial
 * reads have no type here, so they can't count.
 */
export interface CompleteRead {
  /** The wall time at its start: it proves nothing about later actions. */
  readonly startedAtMs: number;
  /** False while the platform's store is lost or has a gap: then the read proves no absence. */
  readonly certain: boolean;
}

/**
 * How long after an attempt's claim its one write may still begin (docs/commands.md, "Result of a
 * write").
 */
const writeWindowMs = 1_000;

/** docs/commands.md, "How unknown is resolved", place. */
const absence = Object.freeze({ minAgeMs: 10 * 60_000, minMisses: 5 });

/**
 * The latest wall time at which a byte of the command may have left us; undefined while that time
 * is still open. An answer, a timeout and a takeover all come after their attempt's last byte.
 * Without any of these the write window bounds it.
 */
export function lastPossibleSendMs({ state, attempts }: Pick<Command, 'state' | 'attempts'>): number | undefined {
  if (state === 'open') return undefined;
  let lastMs: number | undefined;
  for (const attempt of attempts) {
    const sentMs = possibleSendMs(attempt);
    if (sentMs !== undefined && (lastMs === undefined || sentMs > lastMs)) lastMs = sentMs;
  }
  return lastMs;
}

function possibleSendMs({ state, sendingAtMs, answeredAtMs }: Attempt): number | undefined {
  if (sendingAtMs === undefined || state === 'not_sent' || state === 'refused') return undefined;
  return Math.max(answeredAtMs ?? 0, sendingAtMs + writeWindowMs);
}

/**
 * Whether a read that did not show the command counts among its misses: complete, certain, and
 * begun after the last byte can have left.
 */
export function isMiss(command: Pick<Command, 'state' | 'attempts'>, read: CompleteRead): boolean {
  const sentMs = lastPossibleSendMs(command);
  return command.state === 'unknown' && read.certain && sentMs !== undefined && read.startedAtMs > sentMs;
}

/**
 * Whether an unknown place or replace may be labelled presumed absent. At least 10 min have passed
 * since the last possible send, there are 5 misses (`Command.misses`, by `isMiss`), and the last
 * complete read is a miss and certain: an account uncertain since then proves nothing. A label, not
 * a verdict: only `supersedes` frees anything by it.
 */
export function isPresumedAbsent(command: Command, lastRead: CompleteRead | undefined, nowMs: number): boolean {
  if (command.state !== 'unknown' || !mayBeAbsent(command)) return false;
  const sentMs = lastPossibleSendMs(command);
  if (sentMs === undefined || lastRead === undefined || !isMiss(command, lastRead)) return false;
  return nowMs - sentMs >= absence.minAgeMs && command.misses >= absence.minMisses;
}

/**
 * A command without its order, or a replace never seen pending. A cancel needs no such label:
 * another is always allowed.
 */
export function mayBeAbsent(command: Command): boolean {
  const { request, seenPendingAt } = command;
  if (makesOrder(request)) return madeOrder(command) === undefined;
  return request.kind === 'replace' && seenPendingAt === undefined;
}

/** The platform's clock and ours may differ by this. */
const skewMs = 60_000;

/**
 * Whether an order could belong to an unknown place, if the platform had lost our reference: placed
 * by no known command, equal terms, made while a write for the place may have arrived. Shown to
 * people next to `unknown` as a hint. Never a verdict, and nothing may be bound by it: another
 * client may have placed the same order (docs/commands.md, "How unknown is resolved", place).
 */
export function resembles(command: Command, order: Order): boolean {
  const { request, state } = command;
  if (request.kind !== 'place' || state !== 'unknown' || order.origin !== 'external') return false;
  if (order.stream !== request.stream || order.accountId !== request.accountId || !wasMadeMeanwhile(command, order))
    return false;
  if (isOfSecurities(request)) return hasAccountTerms(order, request.terms);
  // Any reference means another client: the platform would have echoed ours in its place.
  return order.clientOrderRef === undefined && hasPredictionTerms(order, request.terms);
}

function wasMadeMeanwhile(command: Command, { createdAt, updatedAt }: Order): boolean {
  const sentMs = command.attempts.flatMap(({ sendingAtMs }) => (sendingAtMs === undefined ? [] : [sendingAtMs]));
  const lastMs = lastPossibleSendMs(command);
  if (sentMs.length === 0 || lastMs === undefined) return false;
  const madeMs = msOf(createdAt ?? updatedAt);
  return madeMs >= Math.min(...sentMs) - skewMs && madeMs <= lastMs + absence.minAgeMs + skewMs;
}

function hasAccountTerms(order: Order, terms: AccountPlaceTerms): boolean {
  return (
    sameLetters(order.instrument.symbol, terms.symbol) &&
    (order.side === orderWord(terms.side) || order.side === 'unknown') &&
    order.quantity === terms.qty &&
    order.orderType === orderWord(terms.type) &&
    order.timeInForce === orderWord(terms.timeInForce) &&
    order.price === terms.price &&
    order.stopPrice === terms.stopPrice &&
    (order.instrument.legs?.length ?? 0) === (terms.legs?.length ?? 0)
  );
}

function hasPredictionTerms(order: Order, terms: PredictionPlaceTerms): boolean {
  return (
    sameSymbol(order.instrument.symbol, terms.symbol) &&
    order.instrument.outcome === terms.outcome &&
    order.side === terms.side &&
    order.quantity === terms.quantity &&
    order.orderType === terms.orderType &&
    order.timeInForce === terms.timeInForce &&
    order.price === terms.price &&
    order.stopPrice === terms.stopPx
  );
}
