import type { Baseline, Command } from '../../domain/command.ts';
import { checkPlace, checkReplace } from '../../domain/command-checks.ts';
import { isTerminal, type Order } from '../../domain/order.ts';
import { isAskableId } from '../../domain/platform-id.ts';
import { present } from '../../domain/present.ts';
import type { ResolvingUpdate } from '../../domain/resolving.ts';
import type { AccountStanding } from '../sources/account-access.ts';
import { type Declined, declined } from './answer.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandParts } from './command-parts.ts';
import type { Submission } from './commands.ts';
import { budgetOf } from './rate-budget.ts';

type CheckDeps = Pick<CommandParts, 'journal' | 'accounts' | 'book' | 'halts' | 'budgets' | 'clock'>;

export type CheckResult =
  | {
      readonly kind: 'passed';
      readonly orderId?: string;
      readonly baseline?: Baseline;
      /** The order named by a replace or cancel, if it is known. */
      readonly order?: Order;
      readonly tookToken: boolean;
    }
  /** A cancel for an order never seen: the platform has to be asked for its account. */
  | { readonly kind: 'unseen' }
  | Declined;

/**
 * All checks to decline a command before anything is journaled (docs/commands.md, "Result of a
 * write"). A cancel is checked only for whether its account may be traded: the platform has to say
 * whether its order is still open. Called in the account's turn: no other command is opened between
 * these checks and the opening. Rejects when the order could not be read. `isPaced`: a cancel from
 * a cancel-all; its list's length is limit enough.
 */
export async function checkSubmission(
  deps: CheckDeps,
  options: CommandOptions,
  submission: Submission,
  isPaced: boolean,
): Promise<CheckResult> {
  const { request } = submission;
  const [early] = objections(deps, options, submission);
  if (early !== undefined) return early;
  if (request.kind === 'place') return takeToken(deps, request, {});
  const named = await readNamed(deps, request);
  if (named === undefined) return mayExistUnseen(submission) ? { kind: 'unseen' } : orderNotFound;
  const { held } = named;
  if (isAnotherThan(submission.onlyOf, held)) return idGivenAgain;
  if (submission.onlyOf?.whileOpen === true && isTerminal(held.order.status)) return hasEnded;
  return orderObjection(deps, submission, named) ?? passed(deps, submission, held, isPaced);
}

/** The order that a command names. `priors`: the account's commands from before it was read. */
interface Named {
  readonly held: ResolvingUpdate;
  readonly priors: readonly Command[];
}

/**
 * Another account's order is treated like one never seen: neither the answer nor its timing tells
 * them apart. Rejects when the order could not be read.
 */
export async function readNamed(
  deps: Pick<CheckDeps, 'journal' | 'book'>,
  { stream, orderId, accountId }: Exclude<Submission['request'], { kind: 'place' }>,
): Promise<Named | undefined> {
  const priors = priorsOf(deps, accountId);
  const held = await deps.journal.readOrder(stream, orderId);
  return held?.order.accountId === accountId ? { held, priors } : undefined;
}

/**
 * All objections to a command before its budget and the journal are asked, in this order:
 * `checkSubmission` takes the first. One at a time, so a command pays for no further one. `named`:
 * once the order is read; left out, only those to its account.
 */
export function* objections(
  deps: Omit<CheckDeps, 'journal' | 'budgets'>,
  options: CommandOptions,
  asked: Pick<Submission, 'request' | 'supersedes' | 'ifRevision'>,
  named?: Named,
): Generator<Declined> {
  const { request, supersedes } = asked;
  const untraded = untradedObjection(deps, options, request);
  if (untraded !== undefined) yield untraded;
  if (request.kind === 'cancel') return;
  yield* placingObjections(deps, options, request);
  if (request.kind === 'replace') {
    const objection = named && orderObjection(deps, asked, named);
    if (objection !== undefined) yield objection;
    return;
  }
  const refusal = checkPlace(request, priorsOf(deps, request.accountId), supersedes);
  if (refusal !== undefined) yield { kind: 'declined', ...refusal };
}

/** Or may be: until two reads agree, only a caller's own cancel goes to the id. */
function isAnotherThan(only: Submission['onlyOf'], { order, inQuestion }: ResolvingUpdate): boolean {
  if (only === undefined) return false;
  const isNamed = 'commandId' in only ? order.commandId === only.commandId : order.incarnation === only.incarnation;
  return !isNamed || inQuestion === true;
}

function priorsOf({ book }: Pick<CheckDeps, 'book'>, accountId: string): readonly Command[] {
  return [...book.ofAccount(accountId)].map(({ command }) => command);
}

/**
 * Ids known here came from the platform; any other is as its caller wrote it. With a revision to
 * match, the caller must have seen the order here.
 */
function mayExistUnseen({ request, ifRevision }: Submission): boolean {
  return request.kind === 'cancel' && ifRevision === undefined && isAskableId(request.stream, request.orderId);
}

/**
 * Why no order of the account may be cancelled on any stream. `SOURCE_NOT_LIVE`: only until the
 * accounts are listed.
 */
export function cancelAllObjection(
  deps: Pick<CheckDeps, 'accounts'>,
  options: CommandOptions,
  accountId: string,
): Declined | undefined {
  const { streams } = deps.accounts;
  const found = streams.flatMap((stream) => accountObjection(deps, options, stream, accountId, true) ?? []);
  if (found.length < streams.length) return undefined;
  return found.find(({ code }) => code === 'ACCOUNT_NOT_TRADED') ?? found[0];
}

/** Why the command may not touch its account, if so. */
export function untradedObjection(
  deps: Pick<CheckDeps, 'accounts'>,
  options: CommandOptions,
  { kind, stream, accountId }: Submission['request'],
): Declined | undefined {
  const objection = accountObjection(deps, options, stream, accountId, kind === 'cancel');
  if (objection !== undefined || hasLogin(deps, accountId)) return objection;
  // Of a named account: after a start, and while a shard moves, until the accounts are listed.
  return declined('SOURCE_NOT_LIVE', 'no login follows the account now, so nothing can be sent for it', 1_000);
}

/** Whether there are tokens for the account: a login follows it on some stream. */
export function hasLogin({ accounts }: Pick<CheckDeps, 'accounts'>, accountId: string): boolean {
  return accounts.streams.some((stream) => accounts.account(stream, accountId) !== undefined);
}

/** Why no command of ours may touch the account, if so. */
function accountObjection(
  deps: Pick<CheckDeps, 'accounts'>,
  { accounts }: CommandOptions,
  stream: Submission['request']['stream'],
  accountId: string,
  mayBeUnknown: boolean,
): Declined | undefined {
  const account = deps.accounts.account(stream, accountId);
  if (accounts.length > 0 && !accounts.includes(accountId))
    return declined(
      'ACCOUNT_NOT_TRADED',
      'the account is not among those that may be traded (TIDEMARK_COMMAND_ACCOUNTS)',
    );
  if (account === undefined && !(mayBeUnknown && accounts.includes(accountId)))
    return deps.accounts.hasListed
      ? declined('ACCOUNT_NOT_FOUND', 'no account of this id is followed on this stream')
      : declined('SOURCE_NOT_LIVE', 'the accounts have not been listed yet', 1_000);
  if (accounts.length === 0 && account?.isSim !== true)
    return declined(
      'ACCOUNT_NOT_TRADED',
      'a real account is traded only when it is named in TIDEMARK_COMMAND_ACCOUNTS',
    );
  return undefined;
}

function* placingObjections(
  { halts, accounts, book }: Pick<CheckDeps, 'halts' | 'accounts' | 'book'>,
  options: CommandOptions,
  { stream, accountId }: Submission['request'],
): Generator<Declined> {
  const halt = halts.blocking(accountId);
  if (halt !== undefined)
    yield declined(
      'PLACING_HALTED',
      `placing is halted (${halt.cause}): ${halt.reason}. Cancels pass; a person has to resume it`,
    );
  const standing = accounts.standing(stream, accountId);
  if (standing?.isOpen === false) yield notOpen(standing);
  const account = accounts.account(stream, accountId);
  if (options.needsLive && account?.notEnrolled === true) yield notEnrolled;
  else if (options.needsLive && account?.live !== true)
    yield declined(
      'SOURCE_NOT_LIVE',
      'the order stream of the account is not live: a result would be learnt late',
      2_000,
    );
  if (standing === undefined)
    yield declined(
      'SOURCE_NOT_LIVE',
      'the platform has not listed the account since the start: its status is not known',
      2_000,
    );
  if (!book.complete) yield declined('RATE_LIMITED', 'more commands are unresolved than can be followed', 10_000);
}

function notOpen({ status, unlistedSinceMs }: AccountStanding): Declined {
  const word = status === undefined ? 'without a status' : `as ${status.slice(0, 50)}`;
  const fact =
    unlistedSinceMs === undefined
      ? `the platform lists the account ${word}`
      : `the platform does not list the account any more${status === undefined ? '' : `; it was listed ${word}`}`;
  return declined('ACCOUNT_NOT_OPEN', `${fact}: only cancels are sent until it is listed as OPEN`);
}

function orderObjection(
  { clock }: Pick<CheckDeps, 'clock'>,
  { request, ifRevision, supersedes }: Pick<Submission, 'request' | 'supersedes' | 'ifRevision'>,
  { held: { order, revision }, priors }: Named,
): Declined | undefined {
  if (ifRevision !== undefined && ifRevision !== revision)
    return declined('REVISION_MISMATCH', `the order is at revision ${revision}`);
  const refusal =
    request.kind === 'replace' ? checkReplace(request, order, priors, { supersedes, nowMs: clock.nowMs() }) : undefined;
  return refusal && { kind: 'declined', ...refusal };
}

function passed(deps: CheckDeps, { request }: Submission, held: ResolvingUpdate, isPaced: boolean): CheckResult {
  if (request.kind === 'place') throw new Error('a place names no order');
  const named = { orderId: request.orderId, baseline: baselineOf(held), order: held.order };
  return isPaced ? { kind: 'passed', ...named, tookToken: false } : takeToken(deps, request, named);
}

/** The checks' last, so a command declined for another reason costs no token. */
function takeToken(
  { budgets }: CheckDeps,
  request: Submission['request'],
  named: Omit<Extract<CheckResult, { kind: 'passed' }>, 'kind' | 'tookToken'>,
): CheckResult {
  const waitMs = budgetOf(budgets, request).take(request.accountId);
  if (waitMs === undefined) return { kind: 'passed', ...named, tookToken: true };
  return rateUsedUp(request.kind === 'cancel' ? 'cancels' : 'commands', waitMs);
}

export function rateUsedUp(of: 'commands' | 'cancels' | 'previews', waitMs: number): Declined {
  return declined('RATE_LIMITED', `the account has used up its rate of ${of}`, waitMs);
}

function baselineOf({ revision, sourceEpoch, sourceVersion, order }: ResolvingUpdate): Baseline {
  const { status, working, cumQty, pendingAction, rejectReason, rejectText, incarnation, updatedAt } = order;
  return present({
    ...{ revision, sourceEpoch, sourceVersion, status, working, cumQty, pendingAction, updatedAt },
    ...{ rejectReason, rejectText, incarnation },
  });
}

export const storeUnavailable = declined(
  'STORE_UNAVAILABLE',
  'the database could not be reached; nothing was sent by this request',
  1_000,
);

/**
 * Its login may have lost the account as well: the platform answers 403 to both, so this says
 * nothing about any order.
 */
export const notEnrolled = declined(
  'ACCOUNT_NOT_TRADED',
  'the platform shows no prediction orders of this account to its login: it is not enrolled, or the login has lost it (asked again every hour)',
);
const hasEnded = declined('ORDER_CLOSED', 'the order has ended since it was listed');
const idGivenAgain = declined(
  'ORDER_NOT_FOUND',
  'the platform shows another order under this id than the one that was to be cancelled',
);
export const orderNotFound = declined('ORDER_NOT_FOUND', 'no such order');
