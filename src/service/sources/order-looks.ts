import type { Cause, Observation } from '../../domain/observation.ts';
import type { Stream } from '../../domain/order.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { OrderReads, ReadBudget } from '../../venue/order-reads.ts';
import type { PlatformError } from '../../venue/platform-error.ts';
import { concernsWholeAccount, givenUp, notCommitted, restAskedMs, storeIsLost } from './account-access.ts';
import { type ObservationSink, roomIn } from './observation-sink.ts';
import type { OrdersOutOfReach } from './out-of-reach.ts';
import { type Question, questions } from './questions.ts';
import type { OnRowResult, RowIntake } from './row-intake.ts';

interface LookRequest {
  /** Why the order is looked at. */
  readonly question: Question;
  /** The caller gives up with it, and is answered at once. */
  readonly signal: AbortSignal;
  /** The row is offered with this cause; command looks are probes. */
  readonly cause?: Extract<Cause, 'snapshot' | 'probe'>;
  /** The budget for the request. */
  readonly budget?: ReadBudget | undefined;
  /** Called with the result of the row, once it is committed. */
  readonly onResult?: OnRowResult | undefined;
  /**
   * For the complete read that opens a source epoch: only its looks
   * may run while the platform's store is lost.
   */
  readonly opensEpoch?: boolean;
}

/**
 * The platform's answer about one order. `found`: its row, committed. `unclear`: an unreadable row,
 * another order's or account's, or one from a store lost meanwhile. `startedMs`, wall time: the
 * answer contains all the platform knew by then.
 */
export type OrderLook =
  | {
      readonly kind: 'found';
      readonly startedMs: number;
      readonly item: Observation;
      readonly row: unknown;
      readonly bytes: number;
      /** The platform's store it belongs to (`RowIntake.mark`). */
      readonly storeMark: number;
    }
  | { readonly kind: 'absent'; readonly startedMs: number }
  | { readonly kind: 'unclear' }
  | { readonly kind: 'failed'; readonly error: PlatformError };

interface OrderLooksDeps {
  readonly reads: OrderReads;
  readonly intake: RowIntake;
  readonly sink: ObservationSink;
  readonly clock: Clock;
  readonly outOfReach: Pick<OrdersOutOfReach, 'note'>;
}

interface Waiter {
  readonly wish: LookRequest;
  readonly answer: (look: OrderLook) => void;
}

interface Look {
  readonly orderId: string;
  readonly waiters: Set<Waiter>;
  /** Aborts when all callers have given up, or the account's session ends. */
  readonly abort: AbortController;
}

/**
 * Command looks are not counted: a command has a 30 s deadline and a budget, and four slow answers
 * may take as long.
 */
const atOnce = 4;

/**
 * "Look at order X", for all code asking for a single order in one account: unreadable frames,
 * orders a read did not show, doubts about our state, commands.
 *
 * A look's states: waiting (by order; the most urgent first, then as asked) → begun → answered,
 * once its row is committed. Invariant: a look answers only callers who asked before it began, so
 * its row is never older than the question. At most one look waits for each order. Looks do not
 * wait for the account's lists: one page may be repeated for 30 s
 * (docs/decisions/015-looks-beside-lists.md). None begins while the platform asks to be left alone:
 * a command's fails at once, since a person may wait for it. Where only the requests for other
 * looks are used up, those of commands go on: some requests are kept for them.
 */
export class OrderLooks {
  private readonly waiting = new Map<string, Look>();
  private readonly running = new Set<Look>();
  /** What the platform has asked for, until its time is over. */
  private rest: { readonly error: PlatformError; readonly isForAll: boolean; readonly over: Timer } | undefined;
  private readonly deps: OrderLooksDeps;
  private readonly options: { readonly stream: Stream; readonly accountId: string; readonly signal: AbortSignal };

  constructor(deps: OrderLooksDeps, options: OrderLooks['options']) {
    this.deps = deps;
    this.options = options;
    options.signal.addEventListener('abort', () => this.stop(), { once: true });
  }

  /**
   * Never rejects. Callers keep their own bounds: a command its budget, the others a few at a time.
   */
  lookAt(orderId: string, wish: LookRequest): Promise<OrderLook> {
    if (wish.signal.aborted || this.options.signal.aborted) return Promise.resolve(failed(givenUp));
    if (wish.question === 'command' && this.rest?.isForAll === true) return Promise.resolve(failed(this.rest.error));
    let look = this.waiting.get(orderId);
    if (look === undefined) {
      look = { orderId, waiters: new Set(), abort: new AbortController() };
      this.waiting.set(orderId, look);
    }
    const answered = this.join(look, wish);
    this.beginNext();
    return answered;
  }

  private join(look: Look, wish: LookRequest): Promise<OrderLook> {
    return new Promise((resolve) => {
      const leave = () => {
        waiter.answer(failed(givenUp));
        if (look.waiters.size > 0) return;
        look.abort.abort();
        if (this.waiting.get(look.orderId) === look) this.waiting.delete(look.orderId);
      };
      const waiter: Waiter = {
        wish,
        answer: (answer) => {
          look.waiters.delete(waiter);
          wish.signal.removeEventListener('abort', leave);
          resolve(answer);
        },
      };
      look.waiters.add(waiter);
      wish.signal.addEventListener('abort', leave, { once: true });
    });
  }

  private beginNext(): void {
    for (let next = this.next(); next !== undefined; next = this.next()) void this.run(next);
  }

  private next(): Look | undefined {
    if (this.rest?.isForAll === true) return undefined;
    let best: Look | undefined;
    for (const look of this.waiting.values())
      if ((best === undefined || urgencyOf(look) < urgencyOf(best)) && !this.isBehindAnother(look)) best = look;
    const onlyCommands = this.rest !== undefined || this.running.size >= atOnce;
    if (best === undefined || (onlyCommands && urgencyOf(best) > 0)) return undefined;
    this.waiting.delete(best.orderId);
    return best;
  }

  /**
   * One look at an order after the other, but a command's look does not wait for looks without a
   * deadline.
   */
  private isBehindAnother(look: Look): boolean {
    for (const other of this.running)
      if (other.orderId === look.orderId && urgencyOf(other) <= urgencyOf(look)) return true;
    return false;
  }

  private async run(look: Look): Promise<void> {
    this.running.add(look);
    const answer = await this.ask(look);
    this.running.delete(look);
    if (answer.kind === 'failed') this.leaveAlone(answer.error);
    for (const waiter of [...look.waiters]) waiter.answer(answer);
    this.beginNext();
  }

  private leaveAlone(error: PlatformError): void {
    // Without a token the platform is not asked, and one may be there sooner.
    const restMs = error.code === 'TOKEN_UNAVAILABLE' ? 0 : restAskedMs(error);
    if (restMs === 0 || this.options.signal.aborted) return;
    this.rest?.over.cancel();
    const over = this.deps.clock.after(restMs, () => {
      this.rest = undefined;
      this.beginNext();
    });
    this.rest = { error, isForAll: error.code !== 'REQUESTS_USED_UP', over };
  }

  private async ask({ orderId, waiters, abort }: Look): Promise<OrderLook> {
    const { reads, intake, sink, clock } = this.deps;
    const { stream, accountId } = this.options;
    const wishes = [...waiters].map(({ wish }) => wish);
    const urgent = wishes.some(({ question }) => question === 'command') || undefined;
    const cause = urgent || wishes.some((wish) => wish.cause === 'probe') ? 'probe' : 'snapshot';
    if (!urgent) await roomIn(sink, abort.signal);
    if (abort.signal.aborted) return failed(givenUp);
    if (intake.suspended && !wishes.some(({ opensEpoch }) => opensEpoch)) return failed(storeIsLost);
    const startedMs = clock.nowMs();
    const storeMark = intake.mark;
    const withBudget = wishes.filter(({ budget }) => budget !== undefined);
    const { budget } = withBudget.find(({ question }) => question === 'command') ?? withBudget[0] ?? {};
    const answer = await reads.getOrder(stream, accountId, orderId, abort.signal, budget);
    if (answer.kind === 'failed') {
      // After a restart this may be the first word about it: no list shows unchanged orders.
      if (answer.error.sent === 'no') this.deps.outOfReach.note(orderId);
      return answer;
    }
    if (answer.kind === 'absent') return { kind: 'absent', startedMs };
    const { row, bytes } = answer;
    const receivedMs = clock.monotonicMs();
    const raw = () => JSON.stringify(row);
    const onResult = wishes.find((wish) => wish.onResult !== undefined)?.onResult;
    const item = intake.takeRow(row, { cause, receivedMs, bytes, storeMark, urgent, raw, onResult });
    try {
      await sink.committed();
    } catch (error) {
      return failed(notCommitted(error));
    }
    if (item.kind !== 'order' || item.view.orderId !== orderId) return { kind: 'unclear' };
    return { kind: 'found', startedMs, item, row, bytes, storeMark };
  }

  private stop(): void {
    this.rest?.over.cancel();
    for (const look of [...this.waiting.values(), ...this.running]) {
      look.abort.abort();
      for (const waiter of [...look.waiters]) waiter.answer(failed(givenUp));
    }
    this.waiting.clear();
  }
}

/** The error of a look that failed and says nothing of its order. */
export function errorBeside(look: OrderLook): PlatformError | undefined {
  if (look.kind !== 'failed') return undefined;
  return look.error.retryable || concernsWholeAccount(look.error) ? look.error : undefined;
}

function urgencyOf({ waiters }: Look): number {
  return Math.min(questions.doubt.urgency, ...[...waiters].map(({ wish }) => questions[wish.question].urgency));
}

function failed(error: PlatformError): OrderLook {
  return { kind: 'failed', error };
}
