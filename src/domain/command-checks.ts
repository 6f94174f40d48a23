import { isConfirmed } from './above-baseline.ts';
import {
  type Command,
  type CommandRequest,
  isFinal,
  isOfSecurities,
  isUnresolved,
  type PlaceRequest,
  type ReplaceRequest,
  type ReplaceTerms,
} from './command.ts';
import { compareDecimals } from './decimal.ts';
import { canonicalInstant } from './instant.ts';
import { isTerminal, type Order } from './order.ts';
import { symbolLetters } from './symbol.ts';

/**
 * Why a command is declined because of its order and account as we know them. Nothing is journaled,
 * nothing was sent (docs/commands.md, "Result of a write").
 */
interface LocalRefusal {
  readonly code:
    | 'UNRESOLVED_PRIOR_COMMAND'
    | 'SUPERSEDED_NOT_ABSENT'
    | 'ORDER_CLOSED'
    | 'ORDER_ACTION_PENDING'
    | 'QUANTITY_BELOW_FILLED'
    | 'NO_CHANGE';
  readonly message: string;
  /** The command that stands in its way. */
  readonly prior?: Command;
}

/**
 * A place may be the same order a second time if its terms equal an unresolved place's on the same
 * account and symbol. Only a caller or operator can decide that, by naming the presumed absent one
 * in `supersedes`. `priors`: the account's commands that are not final.
 */
export function checkPlace(
  request: PlaceRequest,
  priors: readonly Command[],
  supersedes: string | undefined,
): LocalRefusal | undefined {
  const places = priors.filter((prior) => prior.request.kind === 'place' && isUnresolved(prior.state));
  if (supersedes !== undefined && !mayBeSuperseded(places, supersedes, request))
    return refusal(
      'SUPERSEDED_NOT_ABSENT',
      `command ${supersedes} is no place of this account that is presumed absent`,
    );
  const released = releasedBy(places, supersedes);
  const terms = canonicalTerms(request);
  const same = places.find((prior) => !released.has(prior.commandId) && canonicalTerms(prior.request) === terms);
  if (same === undefined) return undefined;
  return {
    code: 'UNRESOLVED_PRIOR_COMMAND',
    message: `command ${same.commandId} placed the same, and its result is not known`,
    prior: same,
  };
}

/**
 * The checks that depend on the order as we know it. The platform decides everything else, and
 * everything about a cancel: it must always be possible to get out, and an end we hold may have
 * been taken back. `priors` as above, in the same account.
 */
export function checkReplace(
  request: ReplaceRequest,
  order: Order,
  priors: readonly Command[],
  { supersedes, nowMs }: { readonly supersedes?: string | undefined; readonly nowMs: number } = { nowMs: 0 },
): LocalRefusal | undefined {
  const { terms } = request;
  const outstandings = priors.filter((prior) => isOutstandingOn(request, prior));
  if (
    supersedes !== undefined &&
    !outstandings.some((prior) => prior.commandId === supersedes && mayBeOvertaken(prior, nowMs))
  )
    return refusal(
      'SUPERSEDED_NOT_ABSENT',
      `command ${supersedes} is no replace of this order that is presumed absent, or that is in conflict and ten minutes old`,
    );
  if (isTerminal(order.status) && isConfirmed(order)) return refusal('ORDER_CLOSED', `the order is ${order.status}`);
  if (order.pendingAction !== 'none')
    return refusal('ORDER_ACTION_PENDING', `a ${order.pendingAction} of the order still awaits the venue`);
  const released = releasedBy(outstandings, supersedes);
  const outstanding = outstandings.find(({ commandId }) => !released.has(commandId));
  if (outstanding !== undefined) {
    const { commandId, state, request: earlier } = outstanding;
    const message = `command ${commandId}, a ${earlier.kind} of the same order, is ${state}`;
    return { code: 'ORDER_ACTION_PENDING', message, prior: outstanding };
  }
  if (terms.quantity !== undefined && compareDecimals(terms.quantity, order.cumQty) < 0)
    return refusal('QUANTITY_BELOW_FILLED', `${order.cumQty} are filled already`);
  return changesNothing(terms, order) ? refusal('NO_CHANGE', 'the order works on these very terms already') : undefined;
}

/** A place waits this long too before it is presumed absent. */
const overtakenAfterMs = 10 * 60_000;

/**
 * A replace that nothing shows any more, or that another client overtook. Its caller may send
 * another one by naming it, again and again, until a person has resolved it: the order does not
 * show it any more.
 */
function mayBeOvertaken({ state, presumedAbsent, request, createdAtMs }: Command, nowMs: number): boolean {
  if (request.kind !== 'replace') return false;
  return state === 'unknown' ? presumedAbsent : state === 'conflict' && createdAtMs <= nowMs - overtakenAfterMs;
}

function isOutstandingOn({ stream, orderId }: ReplaceRequest, { state, request }: Command): boolean {
  return request.kind !== 'place' && request.stream === stream && request.orderId === orderId && !isFinal(state);
}

/**
 * By value: decimals are canonical. Stop price, time in force and expiry are shown as submitted,
 * and never show an amend. A term equal to the submitted one may be a change back, so it is left to
 * the platform.
 */
function changesNothing({ quantity, price, ...hidden }: ReplaceTerms, order: Order): boolean {
  if (Object.values(hidden).some((term) => term !== undefined)) return false;
  const { working } = order;
  return (
    (quantity === undefined || quantity === working.quantity) &&
    (price === undefined || price === (working.price ?? order.price))
  );
}

function mayBeSuperseded(places: readonly Command[], supersedes: string, { accountId, stream }: PlaceRequest): boolean {
  const named = places.find(({ commandId }) => commandId === supersedes);
  if (named?.state !== 'unknown' || !named.presumedAbsent) return false;
  return named.request.accountId === accountId && named.request.stream === stream;
}

/**
 * The named place, and the places it superseded itself. Each was released when its successor was
 * let through.
 */
function releasedBy(places: readonly Command[], supersedes: string | undefined): ReadonlySet<string> {
  const released = new Set<string>();
  let next = supersedes;
  while (next !== undefined && !released.has(next)) {
    released.add(next);
    const commandId: string = next;
    next = places.find((place) => place.commandId === commandId)?.supersedes;
  }
  return released;
}

function refusal(code: LocalRefusal['code'], message: string): LocalRefusal {
  return { code, message };
}

/**
 * Two bodies under one Idempotency-Key are the same if these are equal: the request, and the
 * caller's fields with it.
 */
interface HashedRequest {
  readonly request: CommandRequest;
  readonly callerRef?: string | undefined;
  readonly supersedes?: string | undefined;
}

/**
 * One text for each request, whatever the order of its fields; its terms are canonical
 * (canonical-terms.ts), absent is absent. It is hashed in `service/commands/`, since this room may
 * not import a hash. An Idempotency-Key that comes again with another text is another request.
 */
export function canonicalRequest({ request, callerRef, supersedes }: HashedRequest): string {
  return stableJson({ request, callerRef, supersedes });
}

/**
 * Kind, account, order and terms alone: two commands with equal texts would do the same thing
 * twice. A share class is one in each spelling (BRK.B, BRK/B): which of them the platform takes, a
 * caller may find out by trying. A market's signs are left: B70.5 and B705 are two.
 */
export function canonicalTerms(request: CommandRequest): string {
  if (request.kind !== 'place' || !isOfSecurities(request)) return stableJson(request);
  const { terms } = request;
  return stableJson({ ...request, terms: { ...terms, symbol: symbolLetters(terms.symbol) } });
}

function stableJson(value: unknown, name = ''): string {
  if (name === 'expireTime') return JSON.stringify(canonicalInstant(value) ?? value);
  if (Array.isArray(value)) return `[${value.map((item) => stableJson(item)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${stableJson(field, key)}`);
  return `{${fields.join(',')}}`;
}
