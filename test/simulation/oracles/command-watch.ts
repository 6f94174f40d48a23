import { type Command, type CommandState, madeOrder, makesOrder } from '../../../src/domain/command.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import { type ExchangeOrder, isClosed } from '../../../src/sandbox/exchange/exchange-order.ts';
import type { Miss } from '../../../src/store/commands/command-journal.ts';
import type { MemoryJournal } from '../../support/commands/memory-journal.ts';
import type { CompleteList } from '../world/memory-http.ts';
import type { LedgerWrite, WriteLedger } from '../write-ledger.ts';

interface CommandWatchDeps {
  readonly journal: MemoryJournal;
  readonly ledger: WriteLedger;
  readonly completeLists: readonly CompleteList[];
  readonly orderOf: (orderId: string | undefined) => ExchangeOrder | undefined;
  /** The order that the platform has under the id now. */
  readonly orderAt: (orderId: string) => ExchangeOrder | undefined;
  /** Of the world. */
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
}

/**
 * Resolution, "How unknown is resolved": a place is presumed absent after so long, and so many
 * complete reads that missed it.
 */
const absentAfterMs = 600_000;
const absentMisses = 5;

/** What a person resolved is what that person says. */
const resolvedByPerson = (command: Command, journal: MemoryJournal) =>
  journal.evidence.get(command.commandId)?.some(({ kind }) => kind === 'person') === true;

const cameToNothing: ReadonlySet<CommandState> = new Set(['rejected', 'refused', 'not_sent']);

/**
 * What must hold of commands at every instant, faults or not (docs/guarantees.md 12, 13, 14, 16):
 * looked at with every byte that leaves, with all that the platform does, and with every commit of
 * the journal. The platform's ledger is the oracle.
 */
export class CommandWatch {
  readonly breaches: string[] = [];
  /** Commands whose order appeared when it was presumed absent. */
  readonly lateLandings: Command[] = [];
  /** By attempt: when the commit that permits its write took place. */
  private readonly permittedMs = new Map<string, number>();
  private readonly deps: CommandWatchDeps;
  /** The bound for one write behind its permit. */
  private readonly writeWithinMs: number;

  constructor(deps: CommandWatchDeps, options: { readonly writeWithinMs: number }) {
    this.deps = deps;
    this.writeWithinMs = options.writeWithinMs;
  }

  /** The first byte of a request leaves its process. */
  left(write: LedgerWrite): void {
    const { journal, ledger, clock } = this.deps;
    const { attemptId, from } = write;
    const command = journal.ofAttempts([attemptId]).get(attemptId);
    const attempt = command?.attempts.find((each) => each.attemptId === attemptId);
    if (command === undefined || attempt === undefined) {
      this.breach(`${from} writes ${attemptId}, which is not journaled: ${write.bytes}`);
      return;
    }
    // Unknown: a later holder has swept it between the permit and the byte, since its database's
    // clock ran ahead of our lease. It sends nothing for it, and looks for it.
    this.mustBeOurs(command, from);
    if (attempt.state !== 'sending' && attempt.state !== 'unknown')
      this.breach(`${from} writes ${attemptId}, which is ${attempt.state}`);
    if (ledger.ofAttempt(attemptId).length > 1) this.breach(`${from} writes ${attemptId} a second time`);
    const agoMs = clock.monotonicMs() - (this.permittedMs.get(attemptId) ?? Number.NEGATIVE_INFINITY);
    if (agoMs > this.writeWithinMs)
      this.breach(`${from} writes ${attemptId} ${Math.round(agoMs)} ms behind the commit that permits it`);
    for (const earlier of command.attempts) {
      if (earlier.number >= attempt.number) continue;
      for (const { fate, told } of ledger.ofAttempt(earlier.attemptId)) {
        if (told === 'nothing' || fate === 'done')
          this.breach(
            `${from} writes ${attemptId} though attempt ${earlier.number} of ${command.commandId} was ${fate} and told ${told}`,
          );
      }
    }
  }

  /**
   * Nothing is sent to an order of somebody else, unless a person named that order: a cancel-all
   * that selects, and one that cancels what lands, mean orders that carry our reference.
   */
  private mustBeOurs({ request, idempotencyKey }: Command, from: string): void {
    const [, cancelAllId, of = ''] = /^cancel-all:([^:]+):([^:]+)/.exec(idempotencyKey) ?? [];
    const order = request.kind === 'cancel' ? this.deps.orderAt(request.orderId) : undefined;
    if (cancelAllId === undefined || order === undefined || isClosed(order.state)) return;
    const { journal } = this.deps;
    const { cancelAll } = journal.cancelAlls.find((each) => each.cancelAll.cancelAllId === cancelAllId) ?? {};
    const reference = order.terms.clientOrderRef ?? order.terms.clOrdId;
    const placed = journal.ofAttempts([reference]).get(reference);
    const principal = cancelAll?.selection.principal;
    const isMeant = /^\d+$/.test(of)
      ? principal === undefined || placed?.principal === principal
      : placed?.commandId === of;
    if (!isMeant)
      this.breach(`${from} cancels ${order.terms.orderId} of ${reference}, an order that it was not asked to cancel`);
  }

  /** The platform has done what it was asked. */
  done(write: LedgerWrite): void {
    const { journal, ledger } = this.deps;
    const command = journal.ofAttempts([write.attemptId]).get(write.attemptId);
    if (command === undefined) return;
    const times = command.attempts
      .flatMap(({ attemptId }) => ledger.ofAttempt(attemptId))
      .filter(({ fate }) => fate === 'done').length;
    if (times > 1) this.breach(`${command.commandId} was done ${times} times`);
    if (cameToNothing.has(command.state) && !resolvedByPerson(command, journal))
      this.breach(`${command.commandId} is ${command.state}, and is done ${write.late ? 'late' : 'now'}`);
  }

  /** The journal has committed. */
  committed(command: Command, before: Command | undefined): void {
    const { journal, clock } = this.deps;
    for (const { attemptId, state } of command.attempts)
      if (state === 'sending' && !this.permittedMs.has(attemptId)) this.permittedMs.set(attemptId, clock.monotonicMs());
    if (command.presumedAbsent && before?.presumedAbsent !== true) this.presumedAbsent(command);
    if (command.state === before?.state || resolvedByPerson(command, journal)) return;
    if (before?.presumedAbsent === true && madeOrder(command) !== undefined) this.lateLandings.push(command);
    const wrong = contradiction(command, this.writesOf(command), this.deps.orderOf(command.orderId));
    if (wrong !== undefined)
      this.breach(`${command.commandId} (${command.request.kind}) becomes ${command.state}: ${wrong}`);
  }

  /**
   * A process counts its read among those that missed these commands. By its own clock alone, which
   * may be wrong, it says for how long the read had gone on.
   */
  missed(from: string, misses: readonly Miss[]): void {
    const { journal, completeLists, clock } = this.deps;
    for (const { commandId, evidence } of misses) {
      const command = journal.commands.get(commandId);
      if (command === undefined) continue;
      const sent = this.sentOf(command);
      const beganMs = clock.monotonicMs() - (evidence.atMs - Number(evidence.detail?.['startedAtMs']));
      const reads = completeLists.filter((list) => list.from === from && list.beganMs >= beganMs);
      if (!reads.some((list) => wouldShow(list, command, sent)))
        this.breach(`${from} counts a read as one that missed ${commandId}, which it would not show`);
    }
  }

  private presumedAbsent(command: Command): void {
    const { clock, completeLists } = this.deps;
    const { commandId } = command;
    const sent = this.sentOf(command);
    const ageMs = clock.monotonicMs() - sent.lastMs;
    if (ageMs < absentAfterMs) this.breach(`${commandId} is presumed absent after ${Math.round(ageMs)} ms`);
    const reads = completeLists.filter((list) => wouldShow(list, command, sent));
    if (reads.length < absentMisses)
      this.breach(`${commandId} is presumed absent after ${reads.length} complete reads`);
  }

  private sentOf(command: Command): Sent {
    const left = this.writesOf(command).map(({ leftMs }) => leftMs);
    return {
      sinceMs: Math.min(Number.POSITIVE_INFINITY, ...left),
      lastMs: Math.max(Number.NEGATIVE_INFINITY, ...left),
    };
  }

  private writesOf({ attempts }: Command): LedgerWrite[] {
    return attempts.flatMap(({ attemptId }) => this.deps.ledger.ofAttempt(attemptId));
  }

  private breach(what: string): void {
    this.breaches.push(what);
  }
}

/** A list must reach back to `sinceMs`, and begin behind the last byte. Monotonic, of the world. */
interface Sent {
  readonly sinceMs: number;
  readonly lastMs: number;
}

/**
 * Whether the list shows what the command's writes have done: all orders, or those with its newest
 * reference, in any state, as far back as the first byte, and asked for behind the last one.
 */
function wouldShow(list: CompleteList, { request, attempts }: Command, { sinceMs, lastMs }: Sent): boolean {
  const { stream, accountId, reference, state, changedSinceMs, beganMs } = list;
  if (stream !== request.stream || accountId !== request.accountId || state !== 'all') return false;
  if (reference !== undefined && reference !== attempts.at(-1)?.attemptId) return false;
  return beganMs >= lastMs && changedSinceMs <= sinceMs;
}

/** Why the platform's ledger denies what a command has become; undefined where it agrees. */
function contradiction(
  command: Command,
  writes: readonly LedgerWrite[],
  order: ExchangeOrder | undefined,
): string | undefined {
  const done = writes.find(({ fate }) => fate === 'done');
  const may = writes.find(({ fate }) => fate === 'done' || fate === 'underway');
  switch (command.state) {
    case 'applied':
      return applied(command, done, order);
    case 'rejected':
      return may === undefined ? undefined : rejected(command, may);
    case 'refused':
      return may === undefined ? undefined : `it is ${may.fate}`;
    case 'not_sent':
      return writes.every(({ fate, told }) => fate !== 'done' && told !== 'nothing') ? undefined : 'it was sent';
    case 'accepted':
      return done === undefined ? 'it was not done' : undefined;
    case 'moot':
      return moot(command, done, order);
    default:
      return undefined;
  }
}

/**
 * An order of ours that was amended in the broker's own app goes on as another one with its
 * reference: who never saw the first has only that.
 */
function isSuccessor(order: ExchangeOrder | undefined, elder: ExchangeOrder | undefined): boolean {
  return elder?.state === 'replaced' && order?.terms.clOrdId === elder.terms.clOrdId;
}

function applied(
  { request, orderId }: Command,
  done: LedgerWrite | undefined,
  order: ExchangeOrder | undefined,
): string | undefined {
  // Whoever's cancel it was: what was asked for is so.
  if (request.kind === 'cancel')
    return order === undefined || order.state === 'canceled' ? undefined : `the order is ${order.state}`;
  if (done === undefined) return 'it was not done';
  if (orderId !== done.order?.terms.orderId && !isSuccessor(order, done.order))
    return `it is bound to ${orderId}, and made ${done.order?.terms.orderId}`;
  if (makesOrder(request)) return done.order && wasTaken(done.order) ? undefined : `its order is ${done.order?.state}`;
  return done.venue === 'granted' ? undefined : `the venue says ${done.venue ?? 'nothing yet'}`;
}

/**
 * The venue has had the order: it acknowledged or filled it, or
 * it ended otherwise than by its refusal.
 */
export function wasTaken({ firstAckAt, cumQty, certainState, state }: ExchangeOrder): boolean {
  if (firstAckAt !== undefined || cumQty > 0n) return true;
  const known = state === 'unknown' ? certainState : state;
  return known !== 'rejected' && known !== 'pending_new';
}

function rejected({ request }: Command, may: LedgerWrite): string | undefined {
  if (may.fate === 'underway') return 'it is still on its way';
  if (makesOrder(request)) return may.order?.state === 'rejected' ? undefined : `its order is ${may.order?.state}`;
  return may.venue === 'refused' || may.venue === 'ended' ? undefined : `the venue says ${may.venue ?? 'nothing yet'}`;
}

function moot(
  { request }: Command,
  done: LedgerWrite | undefined,
  order: ExchangeOrder | undefined,
): string | undefined {
  if (request.kind === 'place') return 'a place has nothing that could end before it';
  if (makesOrder(request) && done !== undefined) return `it made ${done.order?.terms.orderId}`;
  return order === undefined || isClosed(order.state) ? undefined : `the order is ${order.state}`;
}
