import { type Command, isFinal, isForOrder, madeOrder } from '../../../domain/command.ts';
import { isTerminal } from '../../../domain/order.ts';
import { Backoff } from '../../../runtime/backoff.ts';
import { inParallel } from '../../../runtime/waiting.ts';
import {
  keyOfCancel,
  type NewCancelAll,
  type OrderOfAccount,
  type PlaceOfAccount,
} from '../../../store/commands/cancel-all-journal.ts';
import type { Term } from '../../../store/commands/term.ts';
import { type Answer, type DeclineCode, isOfThisProcess } from '../answer.ts';
import type { CommandOptions } from '../command-options.ts';
import type { CommandParts } from '../command-parts.ts';
import type { CancelAll, Journaled, Submission } from '../commands.ts';
import { notCancelable } from '../look-at-order.ts';
import type { Pacing } from '../send-attempts.ts';
import { untilAnswered } from '../until-answered.ts';

/**
 * Reasons that may be gone by the next try. An account that is
 * closed may be opened again, with its orders.
 */
const passing: ReadonlySet<DeclineCode> = new Set([
  'ACCOUNT_NOT_FOUND',
  'NOT_LEADER',
  'DRAINING',
  'STORE_UNAVAILABLE',
  'SOURCE_NOT_LIVE',
  'RATE_LIMITED',
]);
const againAfter = { firstMs: 500, maxMs: 5_000 };
/** After such a refusal one look at the order follows: asked so often what came of it. */
const looks = { most: 3, everyMs: 1_000 };

/** What a single run needs from `CancelAlls`. */
export interface CancelAllRunDeps extends Pick<CommandParts, 'clock' | 'random' | 'journal'> {
  readonly book: Pick<CommandParts['book'], 'listen' | 'get'>;
  readonly submit: (submission: Submission, pacing?: Pacing) => Promise<Answer<Journaled>>;
}

type Only = { readonly onlyOf: Submission['onlyOf'] };

interface Cancel {
  result: Answer<Journaled> | undefined;
}

/** A place, and its order's cancel. */
interface Followed extends Cancel {
  command: Command | undefined;
}

/**
 * One cancel-all, as its shard's holder carries it out.
 *
 * One account's orders on one stream form a line with its own window, so a silent venue holds up
 * its own orders only. A cancel leaves the window with its first attempt, and further attempts wait
 * until every order in the line has had its first one. Invariant: every submission has its order's
 * or its place's key, so a cancel asked for twice (by a restart, a takeover, a caller) is sent
 * once. A further key follows only if the cancel of the one before was not sent, because its
 * process ended or gave its shard away: minutes of held cancels would be lost with it.
 */
export class CancelAllRun {
  /**
   * Resolves once the cancel of each order was asked for, and each place looked at, at least once.
   */
  readonly answered: Promise<void>;
  /** By the order's index. */
  private readonly cancels = new Map<number, Cancel>();
  private readonly places = new Map<string, Followed>();
  private readonly stopped = new AbortController();
  /** Orders by their index, and commands: nothing can be said about them yet. */
  private readonly unknown: Set<number | string>;
  private markAnswered: () => void = () => {};
  private readonly deps: CancelAllRunDeps;
  private readonly record: NewCancelAll;
  private readonly term: Term | undefined;
  private readonly options: CommandOptions;

  /**
   * `term`: left out where this process may send nothing; then, and under a term that is over by
   * now, the run only reports the result.
   */
  constructor(deps: CancelAllRunDeps, record: NewCancelAll, term: Term | undefined, options: CommandOptions) {
    this.deps = deps;
    this.record = record;
    this.term = term;
    this.options = options;
    this.answered = new Promise((resolve) => {
      this.markAnswered = resolve;
    });
    this.unknown = new Set([...record.orders.keys(), ...record.places.map(({ commandId }) => commandId)]);
    if (this.unknown.size === 0) this.markAnswered();
    if (term === undefined || term.over.aborted) this.stop();
  }

  /** The term is over. */
  stop(): void {
    this.stopped.abort();
  }

  /** Resolves once the cancel-all is no longer in force, or is stopped. Never rejects. */
  async carryOut(): Promise<void> {
    const { orders, places } = this.record;
    const lines = Map.groupBy(orders.entries(), ([, { accountId, stream }]) => `${stream}:${accountId}`);
    const work = [
      ...[...lines.values()].map((line) => this.cancelLine(line)),
      ...places.map((place) => this.follow(place)),
    ];
    await Promise.all(work);
    await this.end();
  }

  /** Brings the answered cancels up to date. Never rejects. */
  async refresh(): Promise<void> {
    // A run that only reports has just read them.
    if (this.stopped.signal.aborted) return;
    const { book, journal } = this.deps;
    const cancels = [...this.cancels.values(), ...this.places.values()];
    await inParallel(cancels, this.options.cancelAllWindow, async (cancel) => {
      const { result } = cancel;
      if (result?.kind !== 'journaled') return;
      const { commandId, version, state } = result.command;
      if (isFinal(state) && state !== 'refused') return;
      const command = book.get(commandId)?.command ?? (await journal.find(commandId).catch(() => undefined));
      const isNews = command !== undefined && command.version > version && cancel.result === result;
      if (isNews) cancel.result = { ...result, command };
    });
  }

  report(replayed: boolean): CancelAll {
    const { unread, declined } = this.record;
    const orders = this.record.orders.map((order, at) => ({ ...order, result: toldOf(this.cancels.get(at)?.result) }));
    const places = this.record.places.map((place) => {
      const { command, result } = this.places.get(place.commandId) ?? { command: undefined, result: undefined };
      return { ...place, command, result: toldOf(result) };
    });
    const open =
      unread.length + declined.length > 0 ||
      orders.some((order) => !isInHand(order.result) || this.goesOn(order)) ||
      places.some(({ command, result }) => !isOver(command) && !isInHand(result) && !this.isListed(command));
    const inForce = !orders.every(({ result }) => isTaken(result)) || !places.every((place) => this.isDone(place));
    return { kind: 'done', replayed, inForce, open, orders, places, unread, declined };
  }

  /** Another order has taken its place, and none of our replaces has made that one. */
  private goesOn({ stream, orderId, result }: CancelAll['orders'][number]): boolean {
    if (result?.kind !== 'journaled' || result.command.orderStatus !== 'replaced') return false;
    const isReplaced = ({ request }: Command) => request.stream === stream && isForOrder(request, orderId);
    return ![...this.places.values()].some(({ command }) => command !== undefined && isReplaced(command));
  }

  /** The place needs nothing more. */
  private isDone({ command, result }: Followed): boolean {
    if (this.record.onLanding === 'leave') return true;
    if (command === undefined || !isFinal(command.state)) return false;
    return madeOrder(command) === undefined || this.isListed(command) || isTaken(result);
  }

  private isListed(command: Command | undefined): boolean {
    if (command === undefined) return false;
    const { stream } = command.request;
    const made = madeOrder(command);
    return this.record.orders.some((order) => order.stream === stream && order.orderId === made);
  }

  /** Not all orders of its accounts: then none but those that it selects may meet its cancels. */
  private get isSelected(): boolean {
    const { accountId: _scope, ...only } = this.record.selection;
    return Object.keys(only).length > 0;
  }

  private known(of: number | string): void {
    this.unknown.delete(of);
    if (this.unknown.size === 0) this.markAnswered();
  }

  private async cancelLine(line: readonly (readonly [number, OrderOfAccount])[]): Promise<void> {
    const firstsOver = Promise.withResolvers<void>();
    const work: Promise<void>[] = [];
    await inParallel(line, this.options.cancelAllWindow, async ([at, order]) => {
      const first = Promise.withResolvers<void>();
      const keep = (result: Answer<Journaled>, isFollowedByALook = false) => {
        this.cancels.set(at, { result });
        if (!isFollowedByALook) this.known(at);
        first.resolve();
      };
      const pacing = { firstOver: first.resolve, others: firstsOver.promise };
      const whileOpen = this.isSelected && order.ended !== true;
      const onlyOf = order.asShown === true ? undefined : { incarnation: order.incarnation, whileOpen };
      work.push(this.cancel({ ...order, onlyOf }, at, keep, pacing));
      await first.promise;
    });
    firstsOver.resolve();
    await Promise.all(work);
  }

  /** Tries until the result is not one of the passing reasons. */
  private async cancel(
    { accountId, stream, orderId, onlyOf }: Pick<OrderOfAccount, 'accountId' | 'stream' | 'orderId'> & Only,
    of: number | string,
    keep: (result: Answer<Journaled>, isFollowedByALook?: boolean) => void,
    pacing?: Pacing,
  ): Promise<void> {
    const { submit, clock, random } = this.deps;
    const { principal, cancelAllId } = this.record;
    const request = { kind: 'cancel', stream, accountId, orderId } as const;
    const submission = { principal, request, requestId: cancelAllId, ...(onlyOf && { onlyOf }) };
    const backoff = new Backoff(random, againAfter);
    for (let looked = 0, left = 0; ; ) {
      const idempotencyKey = keyOfCancel(this.record, of, left);
      const result = await submit({ ...submission, idempotencyKey }, pacing);
      if (isLeft(result)) {
        left += 1;
        // One of before needs no rest.
        if (!result.replayed) await clock.sleep(backoff.nextMs(), this.stopped.signal);
        continue;
      }
      const isFollowedByALook = looked < looks.most && notCancelable.includes(refusalOfEnded(result));
      keep(result, isFollowedByALook);
      if (isTaken(result) && !isFollowedByALook) return;
      if (isFollowedByALook) looked += 1;
      await clock.sleep(isFollowedByALook ? looks.everyMs : backoff.nextMs(), this.stopped.signal);
      if (this.stopped.signal.aborted) {
        keep(result);
        return;
      }
    }
  }

  /** Until the place is resolved, and its order has its cancel. */
  private async follow(place: PlaceOfAccount): Promise<void> {
    const { commandId } = place;
    const followed: Followed = { command: undefined, result: undefined };
    this.places.set(commandId, followed);
    let news = Promise.withResolvers<void>();
    const take = (command: Command) => {
      if (followed.command !== undefined && command.version < followed.command.version) return;
      followed.command = command;
      news.resolve();
    };
    const { signal } = this.stopped;
    const wake = () => news.resolve();
    signal.addEventListener('abort', wake, { once: true });
    const unlisten = this.deps.book.listen(commandId, take);
    try {
      await this.look(commandId, take);
      do {
        news = Promise.withResolvers<void>();
        await this.cancelLanded(place, followed);
        this.known(commandId);
        if (this.isDone(followed)) return;
        if (!signal.aborted) await news.promise;
      } while (!signal.aborted);
    } finally {
      unlisten();
      signal.removeEventListener('abort', wake);
    }
  }

  private async look(commandId: string, take: (command: Command) => void): Promise<void> {
    const command = await this.untilAnswered(() => this.deps.journal.find(commandId));
    if (command !== undefined) take(command);
  }

  private async cancelLanded({ accountId, stream, commandId }: PlaceOfAccount, followed: Followed): Promise<void> {
    const orderId = followed.command && madeOrder(followed.command);
    const isLeft = this.record.onLanding === 'leave' || this.isListed(followed.command);
    if (orderId === undefined || isLeft || isTaken(followed.result)) return;
    const onlyOf = { commandId, whileOpen: this.isSelected };
    await this.cancel({ accountId, stream, orderId, onlyOf }, commandId, (result) => {
      followed.result = result;
      this.known(commandId);
    });
  }

  private async end(): Promise<void> {
    const { journal, clock } = this.deps;
    const { term, stopped, record } = this;
    if (term === undefined || stopped.signal.aborted) return;
    await this.untilAnswered(() => journal.endCancelAll(record.cancelAllId, clock.nowMs(), term.fence));
  }

  private untilAnswered<T>(ask: () => Promise<T>): Promise<T | undefined> {
    return untilAnswered(this.deps, ask, { ...this.options, over: this.stopped.signal });
  }
}

/** Without a reason of this process alone: another one has the cancel, or soon will. */
function toldOf(result: Answer<Journaled> | undefined): Answer<Journaled> | undefined {
  return result?.kind === 'declined' && isOfThisProcess(result.code) ? undefined : result;
}

/** The cancel is in the journal, or never will be: asking again would change nothing. */
function isTaken(result: Answer<Journaled> | undefined): boolean {
  return result !== undefined && (result.kind === 'journaled' || !passing.has(result.code));
}

/** It was not sent, because its process ended or gave its shard away. */
function isLeft(result: Answer<Journaled>): result is Journaled {
  if (result.kind !== 'journaled' || result.command.state !== 'not_sent') return false;
  const { code = '' } = result.command.reason ?? {};
  return isOfThisProcess(code) || code === 'TAKEN_OVER' || code === 'LANE_LOST';
}

/** The status by which the platform refused the cancel of an order that we believed had ended. */
function refusalOfEnded(result: Answer<Journaled> | undefined): number | undefined {
  if (result?.kind !== 'journaled') return undefined;
  const { state, baseline, reason } = result.command;
  return state === 'refused' && baseline !== undefined && isTerminal(baseline.status) ? reason?.status : undefined;
}

/**
 * The platform took its cancel, or the order has ended: so we believed before, and the platform
 * knows no such order either. Any other refusal says nothing of an order that ended.
 */
function isInHand(result: Answer<Journaled> | undefined): boolean {
  if (result?.kind !== 'journaled') return result?.code === 'ORDER_CLOSED';
  return ['accepted', 'applied', 'moot'].includes(result.command.state) || refusalOfEnded(result) === 404;
}

/** The place is final, and not `applied` with an order. */
function isOver(command: Command | undefined): boolean {
  return (
    command !== undefined && isFinal(command.state) && (madeOrder(command) === undefined || command.state !== 'applied')
  );
}
