import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';
import type { CommandJournal } from '../store/command-journal.ts';
import type { AccountProbes, ProbeResult } from './account-probes.ts';
import { type AccountReads, type BudgetedRead, runProbe } from './account-reads.ts';
import { type Declined, declined, orderNotFound } from './check-submission.ts';
import type { CommandBook } from './command-book.ts';
import type { CommandOptions } from './command-options.ts';
import type { Submission } from './commands.ts';
import { TokenBucket } from './rate-budget.ts';
import type { Watched } from './watched.ts';

interface LookDeps {
  readonly journal: Pick<CommandJournal, 'addEvidence'>;
  readonly probes: AccountProbes;
  readonly reads: AccountReads;
  readonly book: CommandBook;
  readonly clock: Clock;
  readonly log: Log;
  readonly settle: (entry: Watched) => Promise<void>;
}

/** How often a look that found no room in the budget asks again. */
const roomEveryMs = 500;

/** Statuses that say something about the order: it is not there, or it can't be canceled any more. */
const aboutTheOrder: readonly (number | undefined)[] = [404, 409];

/**
 * The platform refused a cancel by 404 or 409: one look at the order, which may have ended by other means (docs/settling.md, "Settling unknown", cancel). Whatever it shows
 * says nothing about the place. Never rejects.
 */
export async function lookAfterRefusal(deps: LookDeps, entry: Watched): Promise<void> {
  const { probes, reads } = deps;
  const { request, orderId, reason } = entry.command;
  if (orderId === undefined || !aboutTheOrder.includes(reason?.status)) return;
  const { stream, accountId } = request;
  const never = new AbortController().signal;
  const direct = await reads.direct((signal, budget) => probes.readOrder(stream, accountId, orderId, signal, budget), never);
  if (direct === undefined) await reads.read(stream, accountId);
  entry.behind = true;
  await deps.settle(entry);
}

/**
 * The order of a replace has ended: before that is called `moot`, a complete read has to show that no other order took its place. One look at a time; a look that was
 * not complete is made again with the next probe. Never rejects.
 */
export async function lookForSuccessor(deps: LookDeps, entry: Watched, reference: string | undefined): Promise<void> {
  const { probes, reads, clock, journal, log } = deps;
  const { commandId, request, orderId } = entry.command;
  if (entry.told.has('looking')) return;
  entry.told.add('looking');
  const { stream, accountId } = request;
  try {
    const result: ProbeResult | undefined =
      reference === undefined
        ? (await reads.read(stream, accountId)).result
        : await withinBudget(deps, entry, (signal, budget) => probes.byReference(stream, accountId, reference, signal, budget));
    if (result?.kind !== 'complete' || !result.certain) return;
    // Without a reference nothing ties one order to another: what a complete read shows beside it is somebody else's.
    const other = reference === undefined ? undefined : result.shown.find((id) => id !== orderId);
    const detail = { startedAtMs: result.startedAtMs, ...(other !== undefined && { orderId: other }) };
    const code = other === undefined ? 'no_successor' : 'successor_found';
    await journal.addEvidence(commandId, [{ kind: 'read', code, detail, atMs: clock.nowMs() }]);
    entry.successor = other === undefined ? {} : { orderId: other };
    await deps.settle(entry);
  } catch (err) {
    log.warn({ err, commandId }, 'a look for a successor could not be recorded; it is made again');
  } finally {
    entry.told.delete('looking');
  }
}

/**
 * A direct read as soon as the budget has room, for as long as the command is followed. Not only when it has room just now: what asks for a look is mostly a read that
 * has just taken the last token, and with a small budget it would be so every time.
 */
async function withinBudget(
  { reads, book, clock }: LookDeps,
  entry: Watched,
  read: BudgetedRead,
): Promise<ProbeResult | undefined> {
  const never = new AbortController().signal;
  while (book.get(entry.command.commandId) === entry) {
    const result = await reads.direct(read, never);
    if (result !== undefined) return result;
    await clock.sleep(roomEveryMs);
  }
  return undefined;
}

/**
 * Asks the platform whose order it is that a cancel names and nobody here has seen. Anything may be named: what is not shown on that account is not cancelled
 * (docs/decisions/022-an-unseen-order-is-read-before-it-is-cancelled.md).
 *
 * Invariant: no more reads than the bucket gives tokens, which is one of their own, of the size of that for probes: random ids take nothing from the commands that are
 * in doubt. What a read has shown is committed when it is done, so that the checks see it.
 */
export class UnseenOrders {
  private readonly bucket: TokenBucket;
  private readonly deps: { readonly probes: Pick<AccountProbes, 'readOrder'>; readonly clock: Clock };
  private readonly options: Pick<CommandOptions, 'probes' | 'deadlineMs'>;

  constructor(deps: UnseenOrders['deps'], options: UnseenOrders['options']) {
    this.deps = deps;
    this.options = options;
    this.bucket = new TokenBucket(deps.clock, options.probes);
  }

  /** Why the cancel is not sent; undefined: the order was shown. Never rejects. */
  async objection(request: Extract<Submission['request'], { kind: 'cancel' }>, stop: AbortSignal): Promise<Declined | undefined> {
    const { probes } = this.deps;
    const { bucket } = this;
    const { stream, accountId, orderId } = request;
    if (!bucket.take()) return declined('RATE_LIMITED', 'too many orders that were never seen are asked for', bucket.waitMs());
    const budget = { spend: () => {}, mayRepeat: () => bucket.take() };
    const limits = { deadlineMs: this.options.deadlineMs, stop };
    const result = await runProbe(this.deps, (signal) => probes.readOrder(stream, accountId, orderId, signal, budget), limits);
    if (result.kind === 'failed')
      return declined('SOURCE_NOT_LIVE', 'the order was never seen here, and could not be read just now', 1_000);
    return result.shown.includes(orderId) ? undefined : orderNotFound;
  }
}
