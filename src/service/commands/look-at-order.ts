import { makesOrder } from '../../domain/command.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ReadBudget } from '../../venue/order-reads.ts';
import type { FollowedAccounts } from '../sources/account-access.ts';
import { type AccountReads, runProbe } from './account-reads.ts';
import { type Declined, declined } from './answer.ts';
import { notEnrolled, orderNotFound } from './check-submission.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandParts } from './command-parts.ts';
import type { Submission } from './commands.ts';
import { TokenBucket } from './rate-budget.ts';
import { listLagMs, type Watched } from './watched.ts';

interface LookDeps extends CommandParts {
  readonly reads: AccountReads;
  readonly resolve: (entry: Watched) => Promise<void>;
}

/** It can't be canceled any more: venues say it by either. */
export const notCancelable: readonly (number | undefined)[] = [409, 422];

/**
 * The venue refused a cancel: its order is not there, or not cancelable. One read, since the order
 * may have ended by other means (docs/commands.md, "How unknown is resolved", cancel). Its result
 * says nothing about the place. Never rejects.
 */
export async function lookAfterRefusal(deps: LookDeps, entry: Watched): Promise<void> {
  const { accounts, reads } = deps;
  const { request, orderId, reason } = entry.command;
  if (orderId === undefined || ![404, ...notCancelable].includes(reason?.status)) return;
  const { stream, accountId } = request;
  const direct = await reads.direct(
    (signal, budget) => accounts.account(stream, accountId)?.lookAt(orderId, signal, budget),
    entry.term.over,
  );
  if (direct === undefined) await reads.read(stream, accountId, entry.term);
  else if (direct.complete && direct.certain)
    entry.stillEnded = direct.shown.includes(orderId) && direct.working?.includes(orderId) !== true;
  entry.behind = true;
  await deps.resolve(entry);
}

/**
 * A second order carries a place's reference. It may have replaced the first, and the news may be
 * on its way: one read for the first, before a person is called. Never rejects.
 */
export async function lookAtElder({ accounts, reads, resolve }: LookDeps, entry: Watched): Promise<void> {
  const { request, orderId } = entry.command;
  if (orderId === undefined) return;
  const { stream, accountId } = request;
  const { over } = entry.term;
  await reads.direct((signal, budget) => accounts.account(stream, accountId)?.lookAt(orderId, signal, budget), over);
  entry.behind = true;
  await resolve(entry);
}

/**
 * A replace's order has ended: before the replace is called `moot`, a complete read has to show no
 * other order in its place. One look at a time; an incomplete look is repeated with the next probe.
 * The reads may not show an order yet that the replace has made, so there the look waits, and has
 * to show the order that replaced the named one. Never rejects.
 */
export async function lookForSuccessor(deps: LookDeps, entry: Watched, reference: string | undefined): Promise<void> {
  const { accounts, reads, book, clock, journal, log } = deps;
  const { commandId, request, orderId } = entry.command;
  if (entry.warnings.has('looking')) return;
  if (makesOrder(request) && clock.monotonicMs() < entry.sentAtMs + listLagMs) return;
  entry.warnings.add('looking');
  const { stream, accountId } = request;
  try {
    const look =
      reference === undefined
        ? (await reads.read(stream, accountId, entry.term)).look
        : await reads.inTurn(
            (signal, budget) =>
              book.get(commandId) === entry
                ? accounts.account(stream, accountId)?.lookFor(reference, signal, budget)
                : undefined,
            entry.term.over,
          );
    if (!look.complete || !look.certain || !(await showsReplacing(deps, entry))) return;
    // Without a reference nothing ties one order to another: the other orders of a complete read
    // belong to other commands.
    const other = reference === undefined ? undefined : look.shown.find((id) => id !== orderId);
    const detail = { startedAtMs: look.startedAtMs, ...(other !== undefined && { orderId: other }) };
    const code = other === undefined ? 'no_successor' : 'successor_found';
    await journal.addEvidence(commandId, [{ kind: 'read', code, detail, atMs: clock.nowMs() }]);
    entry.successor = other === undefined ? {} : { orderId: other };
    await deps.resolve(entry);
  } catch (err) {
    log.warn({ err, commandId }, 'a look for a successor could not be recorded; it is made again');
  } finally {
    entry.warnings.delete('looking');
  }
}

/** If another order replaced the named one, it is shown: our reference has bound it by then. */
async function showsReplacing({ accounts, reads }: LookDeps, entry: Watched): Promise<boolean> {
  const { stream, accountId } = entry.command.request;
  const replacedBy = entry.updates.findLast(({ order }) => order.replacedBy !== undefined)?.order.replacedBy;
  if (replacedBy === undefined) return true;
  const read = (signal: AbortSignal, budget: ReadBudget) =>
    accounts.account(stream, accountId)?.lookAt(replacedBy, signal, budget);
  const look = await reads.inTurn(read, entry.term.over);
  entry.behind = true;
  return look.complete && look.shown.includes(replacedBy);
}

/**
 * A cancel names an order this process has never seen: asks the platform for its account. A caller
 * may name any id, so the order is not cancelled unless the account shows it
 * (docs/decisions/022-an-unseen-order-is-read-before-it-is-cancelled.md).
 *
 * Invariant: no more reads than the bucket gives tokens. These reads have their own bucket for all
 * shards, as large as the probes' one, so random ids take nothing from commands in doubt. An order
 * shown by a read is committed when the read is done, so the checks see it.
 */
export class UnseenOrders {
  private readonly bucket: TokenBucket;
  private readonly deps: { readonly accounts: FollowedAccounts; readonly clock: Clock; readonly part?: () => number };
  private readonly options: CommandOptions;

  constructor(deps: UnseenOrders['deps'], options: CommandOptions) {
    this.deps = deps;
    this.options = options;
    this.bucket = new TokenBucket(deps.clock, options.probes, deps.part);
  }

  /** Why the cancel is not sent; undefined: the order was shown. Never rejects. */
  async objection(
    request: Extract<Submission['request'], { kind: 'cancel' }>,
    stop: AbortSignal,
  ): Promise<Declined | undefined> {
    const { accounts } = this.deps;
    const { bucket } = this;
    const { stream, accountId, orderId } = request;
    if (accounts.account(stream, accountId)?.notEnrolled === true) return notEnrolled;
    if (!bucket.take())
      return declined('RATE_LIMITED', 'too many orders that were never seen are asked for', bucket.waitMs());
    const budget = { purpose: 'cancel', mayRepeat: () => bucket.take() } as const;
    const read = (signal: AbortSignal) => accounts.account(stream, accountId)?.lookAt(orderId, signal, budget);
    const look = await runProbe(this.deps.clock, this.options.deadlineMs, stop, read);
    if (!look.complete)
      return declined('SOURCE_NOT_LIVE', 'the order was never seen here, and could not be read just now', 1_000);
    return look.shown.includes(orderId) ? undefined : orderNotFound;
  }
}
