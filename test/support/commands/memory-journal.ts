import {
  type Attempt,
  type Command,
  type Evidence,
  isDoubtful,
  isFinal,
  madeOrder,
  makesOrder,
  type Reason,
} from '../../../src/domain/command.ts';
import type { Order, Stream } from '../../../src/domain/order.ts';
import { venueDecision } from '../../../src/domain/resolve-place.ts';
import type { BoundOrder, ResolvingUpdate } from '../../../src/domain/resolving.ts';
import type { Selectable } from '../../../src/domain/select-orders.ts';
import {
  keyOfCancel,
  type NewCancelAll,
  type OpenCancelAllResult,
  type OpenOrder,
  type PlaceOfAccount,
} from '../../../src/store/commands/cancel-all-journal.ts';
import type {
  CommandJournal,
  CommandStep,
  HaltBounds,
  Landings,
  Miss,
  MissResult,
  NewCommand,
  NewEvidence,
  OpenResult,
  Rival,
  StepResult,
} from '../../../src/store/commands/command-journal.ts';
import type { CancelTimer, CancelTimersChange, ClearingWord, Halt } from '../../../src/store/commands/halts-journal.ts';
import { changed, opened, stepped, takenOver } from '../../../src/store/commands/journal-rows.ts';
import type { Fence } from '../../../src/store/commands/term.ts';
import {
  must,
  mustBeNewCancelAll,
  mustBeNewHalt,
  mustBeThere,
  mustBeWellFormed,
  mustHoldAttempts,
  mustMoveAttempt,
  mustMoveCommand,
  mustNameAttempt,
} from './journal-rules.ts';
import type { JournaledOrders } from './journaled-orders.ts';

export type JournalOperation = keyof CommandJournal;

/**
 * What stands between a caller and the journal: `transact` does the whole call at once. A hook may
 * wait before or after it, reject before it (nothing happened), reject after it (it happened, and
 * the answer was lost), or let it happen long after it has rejected.
 */
export type JournalHook = <T>(operation: JournalOperation, transact: () => T) => Promise<T>;

const noHook: JournalHook = async (_operation, transact) => transact();

const keyKeptMs = 7 * 86_400_000;
const rivalsWithinMs = 86_400_000;

/** A step of a command, as the outbox has it. */
interface JournalEvent {
  readonly number: number;
  readonly command: Command;
  readonly evidence: readonly NewEvidence[];
}

/**
 * The journal of the simulator: every call one transaction in one turn, with all invariants that
 * the port promises of the database, by the tables of `domain/command-machine.ts`. It survives the
 * crashes of its clients. Without limits, approvals and the audit trail, which nobody uses there;
 * all other tests have Postgres itself (`rig-journal.ts`).
 *
 * Invariant: `commands` holds what is committed; a call that throws has changed nothing.
 */
export class MemoryJournal implements CommandJournal {
  hook: JournalHook = noHook;
  readonly commands = new Map<string, Command>();
  readonly evidence = new Map<string, readonly Evidence[]>();
  /** The outbox, in the order of the steps. */
  readonly events: JournalEvent[] = [];
  readonly halts: Halt[] = [];
  /** Those that are armed. */
  readonly cancelTimers = new Map<string, Omit<CancelTimer, 'leftMs'> & { readonly firesAtMs: number }>();
  /** The journal's own clock: it stands unless it is set. */
  nowMs: () => number = () => 0;
  readonly cancelAlls: { readonly shard: number; readonly cancelAll: NewCancelAll }[] = [];
  readonly endedCancelAlls = new Set<string>();
  /** How many halts the journal itself has raised: their ids are of no use to anybody else. */
  private readonly own = { halts: 0 };
  readonly orders: JournaledOrders;
  /** Told in the same instant as each commit of a command. */
  onCommitted: (command: Command, before: Command | undefined) => void = () => {};
  /** The same of each halt that it took. */
  onHalted: (halt: Halt) => void = () => {};
  /** The same of each scope that a person let place again. */
  onResumed: (scope: Halt['scope'], atMs: number) => void = () => {};
  /** By shard, the epoch under which it may be written, where no database has the shards. */
  readonly epochs = new Map<number, bigint>();
  private readonly epochOf: ((shard: number) => bigint | undefined) | undefined;
  private readonly byKey = new Map<string, string>();
  private readonly byAttempt = new Map<string, string>();

  /** `epochOf`: the shards' rows. Left out: a takeover takes its shard first. */
  constructor(orders: JournaledOrders, epochOf?: (shard: number) => bigint | undefined) {
    this.orders = orders;
    this.epochOf = epochOf;
  }

  open(command: NewCommand, fence: Fence): Promise<OpenResult> {
    return this.hook('open', () => this.transactOpen(command, fence));
  }

  markSending(attemptId: string, atMs: number, fence: Fence): Promise<boolean | Reason> {
    return this.hook('markSending', () => {
      const command = this.commands.get(this.byAttempt.get(attemptId) ?? '');
      const attempt = command?.attempts.find((each) => each.attemptId === attemptId);
      if (!this.holds(fence) || command?.state !== 'open' || attempt === undefined) return false;
      const objection = this.sendingObjection(command);
      if (objection !== undefined) return objection;
      if (attempt.state !== 'prepared' || attempt.epoch !== fence.epoch) return false;
      const sending: Attempt = { ...attempt, state: 'sending', sendingAtMs: atMs };
      this.commit({ ...command, attempts: changed(command, sending) }, [note('sending', attemptId, atMs)], 'quiet');
      return true;
    });
  }

  step(step: CommandStep, fence: Fence): Promise<StepResult> {
    return this.hook('step', () => this.transactStep(step, fence));
  }

  noteMisses(misses: readonly Miss[], fence: Fence): Promise<MissResult> {
    return this.hook('noteMisses', () => {
      if (!this.holds(fence)) return { kind: 'fenced' };
      const found = misses.map((miss) => ({ ...miss, command: this.ofShard(miss.commandId, fence) }));
      const isUnmoved = ({ command, version }: (typeof found)[number]) =>
        command.version === version && command.state === 'unknown';
      const noted = found.filter(isUnmoved).map(({ command, evidence }) => {
        const next = { ...command, misses: command.misses + 1 };
        this.commit(next, [evidence], 'quiet');
        return { commandId: next.commandId, misses: next.misses };
      });
      return { kind: 'noted', noted, moved: found.filter((each) => !isUnmoved(each)).map(({ command }) => command) };
    });
  }

  addEvidence(commandId: string, evidence: readonly NewEvidence[]): Promise<void> {
    return this.hook('addEvidence', () => {
      mustBeThere(this.commands.get(commandId), commandId);
      this.append(commandId, evidence);
    });
  }

  takeOver(fence: Fence, atMs: number, recentMs: number, haltAt?: HaltBounds): Promise<Command[]> {
    return this.hook('takeOver', () => {
      const { shard, epoch } = fence;
      if (this.epochOf === undefined && epoch > (this.epochs.get(shard) ?? 0n)) this.epochs.set(shard, epoch);
      if (!this.holds(fence))
        throw Object.assign(new Error(`the shard has another epoch than ${epoch}`), { code: 'FENCED' });
      const ours = () => this.oldestFirst().filter((command) => command.shard === shard);
      const swept = ours().filter((command) => this.sweep(command, fence, atMs));
      const accountIds = new Set(swept.map(({ request }) => request.accountId));
      if (accountIds.size > 0) this.haltDoubtful(accountIds, haltAt, atMs);
      return ours().filter(({ state, resolvedAtMs }) => !isFinal(state) || (resolvedAtMs ?? 0) >= atMs - recentMs);
    });
  }

  find(commandId: string): Promise<Command | undefined> {
    return this.hook('find', () => this.shown(this.commands.get(commandId)));
  }

  findByKey(principal: string, idempotencyKey: string): Promise<Command | undefined> {
    return this.hook('findByKey', () => this.commands.get(this.byKey.get(keyOf(principal, idempotencyKey)) ?? ''));
  }

  findByAttempts(attemptIds: readonly string[]): Promise<Map<string, Command>> {
    return this.hook('findByAttempts', () => this.ofAttempts(attemptIds));
  }

  /** Everything known about one command, oldest first. */
  evidenceOf(commandId: string): readonly Evidence[] {
    return this.evidence.get(commandId) ?? [];
  }

  unresolved(
    limit: number,
    after?: Pick<Command, 'createdAtMs' | 'commandId'>,
    shards?: readonly number[],
  ): Promise<Command[]> {
    const isAbove = ({ createdAtMs, commandId }: Command) =>
      after === undefined ||
      createdAtMs > after.createdAtMs ||
      (createdAtMs === after.createdAtMs && commandId > after.commandId);
    return this.hook('unresolved', () =>
      this.oldestFirst()
        .filter((command) => !isFinal(command.state) && isAbove(command) && shards?.includes(command.shard) !== false)
        .slice(0, limit),
    );
  }

  boundOrders(commandIds: readonly string[]): Promise<BoundOrder[]> {
    return this.hook('boundOrders', () => this.orders.boundOrders(new Set(commandIds)));
  }

  rivals(commandIds: readonly string[]): Promise<Rival[]> {
    return this.hook('rivals', () => commandIds.flatMap((commandId) => this.rivalsOf(commandId)));
  }

  landings(shard: number, after: string | undefined, limit: number): Promise<Landings> {
    return this.hook('landings', () => {
      const places = [...this.commands.values()]
        .filter(
          ({ shard: its, request, orderId, state }) =>
            its === shard &&
            request.kind !== 'cancel' &&
            isFinal(state) &&
            (orderId === undefined || state !== 'applied'),
        )
        .filter(({ commandId }) => commandId > (after ?? ''))
        .sort((a, b) => (a.commandId < b.commandId ? -1 : 1))
        .slice(0, limit);
      const bound = places.flatMap((place) => this.landingsOf(place));
      const last = places.at(-1);
      return last === undefined || places.length < limit ? { bound } : { bound, next: last.commandId };
    });
  }

  updatesAfter(stream: Stream, orderId: string, afterRevision: number, limit: number): Promise<ResolvingUpdate[]> {
    return this.hook('updatesAfter', () => this.orders.updatesAfter(stream, orderId, afterRevision, limit));
  }

  readOrder(stream: Stream, orderId: string): Promise<ResolvingUpdate | undefined> {
    return this.hook('readOrder', () => this.orders.readOrder(stream, orderId));
  }

  openOrders(accountId: string, after: OpenOrder | undefined, limit: number): Promise<(OpenOrder & Selectable)[]> {
    return this.hook('openOrders', () =>
      this.orders.openOrders(accountId, after, limit).map((order) => this.selectableOf(order)),
    );
  }

  namedOrders(accountId: string, orders: readonly OpenOrder[]): Promise<(OpenOrder & Selectable)[]> {
    return this.hook('namedOrders', () =>
      orders
        .flatMap(({ stream, orderId }) => this.orders.readOrder(stream, orderId)?.order ?? [])
        .filter((order) => order.accountId === accountId)
        .map((order) => this.selectableOf(order)),
    );
  }

  private selectableOf(order: Order): OpenOrder & Selectable {
    const { stream, orderId, side, commandId = '', callerRef, clOrdId, clientOrderRef, incarnation } = order;
    const placed = this.commands.get(commandId);
    return {
      ...{ stream, orderId, side, symbol: order.instrument.symbol },
      ...(placed !== undefined && { principal: placed.principal }),
      ...(incarnation !== undefined && { incarnation }),
      references: [callerRef, clOrdId, clientOrderRef].filter((each) => each !== undefined),
    };
  }

  unseenPlaces(accountIds: readonly string[]): Promise<(PlaceOfAccount & Selectable)[]> {
    return this.hook('unseenPlaces', () =>
      this.oldestFirst().flatMap((command) => {
        const { commandId, state, request, principal, callerRef, attempts } = command;
        const { accountId, stream } = request;
        const isUnseen = makesOrder(request) && madeOrder(command) === undefined && !isFinal(state);
        if (request.kind === 'cancel' || !isUnseen || !accountIds.includes(accountId)) return [];
        const named = request.kind === 'place' ? undefined : this.orders.readOrder(stream, request.orderId)?.order;
        const { symbol, side } =
          request.kind === 'place'
            ? request.terms
            : { symbol: named?.instrument.symbol ?? '', side: named?.side ?? 'unknown' };
        const references = [
          ...(callerRef === undefined ? [] : [callerRef]),
          ...attempts.map(({ attemptId }) => attemptId),
        ];
        return [{ accountId, stream, commandId, symbol, side, principal, references }];
      }),
    );
  }

  openCancelAll(cancelAll: NewCancelAll, fence: Fence): Promise<OpenCancelAllResult> {
    return this.hook('openCancelAll', () => {
      if (!this.holds(fence)) return { kind: 'fenced' };
      const { principal, idempotencyKey, requestHash, atMs } = cancelAll;
      const known = this.cancelAllOfKey(fence.shard, principal, idempotencyKey);
      if (known !== undefined && this.holdsKey(known, atMs))
        return known.requestHash === requestHash ? { kind: 'replayed', cancelAll: known } : { kind: 'key_reused' };
      mustBeNewCancelAll(
        cancelAll,
        this.cancelAlls.map((each) => each.cancelAll),
      );
      this.cancelAlls.push({ shard: fence.shard, cancelAll });
      return { kind: 'opened', cancelAll };
    });
  }

  findCancelAll(shard: number, principal: string, idempotencyKey: string): Promise<NewCancelAll | undefined> {
    return this.hook('findCancelAll', () => {
      const known = this.cancelAllOfKey(shard, principal, idempotencyKey);
      return known !== undefined && this.holdsKey(known, this.nowMs()) ? known : undefined;
    });
  }

  cancelAllsInForce(shard: number): Promise<NewCancelAll[]> {
    return this.hook('cancelAllsInForce', () =>
      this.cancelAlls
        .filter((each) => each.shard === shard && !this.endedCancelAlls.has(each.cancelAll.cancelAllId))
        .map(({ cancelAll }) => cancelAll)
        .sort((a, b) => a.atMs - b.atMs || (a.cancelAllId < b.cancelAllId ? -1 : 1)),
    );
  }

  endCancelAll(cancelAllId: string, _atMs: number, fence: Fence): Promise<boolean> {
    return this.hook('endCancelAll', () => {
      if (!this.holds(fence)) return false;
      if (this.cancelAlls.some(({ cancelAll }) => cancelAll.cancelAllId === cancelAllId))
        this.endedCancelAlls.add(cancelAllId);
      return true;
    });
  }

  setCancelTimers({ principal, afterMs, timers }: CancelTimersChange, fence: Fence): Promise<number | undefined> {
    return this.hook('setCancelTimers', () => {
      if (!this.holds(fence)) return undefined;
      const firesAtMs = this.nowMs() + afterMs;
      for (const { accountId, timerId } of timers) {
        const key = JSON.stringify([fence.shard, principal, accountId]);
        if (afterMs === 0) this.cancelTimers.delete(key);
        else this.cancelTimers.set(key, { shard: fence.shard, principal, accountId, timerId, firesAtMs });
      }
      return firesAtMs;
    });
  }

  armedCancelTimers(shards: readonly number[]): Promise<CancelTimer[]> {
    return this.hook('armedCancelTimers', () =>
      [...this.cancelTimers.values()]
        .filter(({ shard }) => shards.includes(shard))
        .sort((a, b) => a.firesAtMs - b.firesAtMs)
        .map(({ timerId, shard, principal, accountId, firesAtMs }) => ({
          ...{ timerId, shard, principal, accountId },
          leftMs: Math.max(0, firesAtMs - this.nowMs()),
        })),
    );
  }

  endCancelTimer(timerId: string, fence: Fence): Promise<boolean> {
    return this.hook('endCancelTimer', () => {
      if (!this.holds(fence)) return false;
      for (const [key, timer] of this.cancelTimers) if (timer.timerId === timerId) this.cancelTimers.delete(key);
      return true;
    });
  }

  activeHalts(knownIds: readonly string[] = []): Promise<Halt[]> {
    return this.hook('activeHalts', () =>
      this.halts.filter((halt) => isActive(halt) || knownIds.includes(halt.haltId)),
    );
  }

  raiseHalt(halt: Halt): Promise<Halt> {
    return this.hook('raiseHalt', () => this.transactHalt(halt));
  }

  private transactHalt(halt: Halt): Halt {
    const same = this.halts.find(
      (each) => isActive(each) && each.cause === halt.cause && sameScope(each.scope, halt.scope),
    );
    const own = this.halts.find(({ haltId }) => haltId === halt.haltId);
    const isNew = same === undefined && own === undefined;
    if (!isNew) return same ?? own ?? halt;
    mustBeNewHalt(halt, this.halts);
    this.halts.push(halt);
    this.onHalted(halt);
    return halt;
  }

  /** A halt of the journal itself. */
  private halt(scope: Halt['scope'], cause: string, reason: string, sinceMs: number): Halt {
    this.own.halts += 1;
    return this.transactHalt({ haltId: `journal-${this.own.halts}`, scope, cause, reason, by: 'tidemark', sinceMs });
  }

  /** As `halt_doubtful` does. */
  private haltDoubtful(accountIds: Iterable<string>, haltAt: HaltBounds | undefined, atMs: number): readonly Halt[] {
    if (haltAt === undefined) return [];
    const scopes = [...accountIds].map((accountId) => ({ kind: 'account', accountId }) as const);
    return [...scopes, { kind: 'service' } as const].flatMap((scope) => {
      const isRaised = ({ cause, ...halt }: Halt) => cause === 'unresolved' && sameScope(halt.scope, scope);
      const most = haltAt[scope.kind];
      if (this.halts.some((halt) => isActive(halt) && isRaised(halt)) || this.countDoubtful(scope) < most) return [];
      const of = scope.kind === 'account' ? ' of the account' : '';
      return [this.halt(scope, 'unresolved', `${most} commands${of} have a result that is not known`, atMs)];
    });
  }

  private countDoubtful(scope: Halt['scope']): number {
    const isOf = ({ request }: Command) => scope.kind === 'service' || scope.accountId === request.accountId;
    return [...this.commands.values()].filter((command) => isDoubtful(command.state) && isOf(command)).length;
  }

  clearHalts(
    scope: Halt['scope'],
    { by, reason, atMs, ofSomeAccounts }: ClearingWord,
    fence: Fence,
  ): Promise<number | 'kept' | 'fenced'> {
    return this.hook('clearHalts', () => {
      if (!this.holds(fence)) return 'fenced';
      const those = this.halts.filter((halt) => isActive(halt) && sameScope(halt.scope, scope));
      if (ofSomeAccounts && those.some(({ cause }) => cause === 'operator')) return 'kept';
      must(those.length === 0 || reason !== '', '23514', 'a halt is cleared with a reason');
      for (const [i, halt] of this.halts.entries())
        if (those.includes(halt)) this.halts[i] = { ...halt, clearedAtMs: atMs, clearedBy: by, clearedReason: reason };
      this.onResumed(scope, atMs);
      return those.length;
    });
  }

  preview = notSimulated;
  requestApproval = notSimulated;
  approvals = notSimulated;
  findApproval = notSimulated;
  limits = notSimulated;
  changeLimits = notSimulated;

  hurry(): void {}

  addToAuditTrail(): Promise<void> {
    return this.hook('addToAuditTrail', () => undefined);
  }

  /** As they stand, for whoever looks from outside or binds orders. */
  ofAttempts(attemptIds: readonly string[]): Map<string, Command> {
    const found = new Map<string, Command>();
    for (const attemptId of attemptIds) {
      const command = this.commands.get(this.byAttempt.get(attemptId) ?? '');
      if (command !== undefined) found.set(attemptId, command);
    }
    return found;
  }

  /** Nothing that was committed before its opening forbids its first attempt. */
  private mayBeginSending(command: Command): boolean {
    return this.sendingObjection(command) === undefined;
  }

  /** As `sending_objection` does. */
  private sendingObjection({ request: { accountId, kind } }: Command): Reason | undefined {
    if (kind === 'cancel') return undefined;
    const halt = this.halts.find(
      (each) => isActive(each) && (each.scope.kind === 'service' || each.scope.accountId === accountId),
    );
    if (halt === undefined) return undefined;
    return { code: 'PLACING_HALTED', message: `placing was halted (${halt.cause}): ${halt.reason}`.slice(0, 500) };
  }

  private cancelAllOfKey(shard: number, principal: string, key: string): NewCancelAll | undefined {
    const ofShard = this.cancelAlls.filter((each) => each.shard === shard).map(({ cancelAll }) => cancelAll);
    return ofShard.findLast((each) => each.principal === principal && each.idempotencyKey === key);
  }

  private holdsKey(cancelAll: NewCancelAll, atMs: number): boolean {
    return cancelAll.atMs > atMs - keyKeptMs || this.isUnderWay(cancelAll);
  }

  private isUnderWay(cancelAll: NewCancelAll): boolean {
    if (!this.endedCancelAlls.has(cancelAll.cancelAllId)) return true;
    return [...this.commands.values()].some(
      ({ principal, idempotencyKey, state }) =>
        principal === cancelAll.principal && idempotencyKey.startsWith(keyOfCancel(cancelAll, '')) && !isFinal(state),
    );
  }

  private landingsOf(command: Command): BoundOrder[] {
    const { commandId, state, request, attempts } = command;
    return this.orders.boundOrders(new Set([commandId])).filter(({ matches, orderId, attemptId }) => {
      const order = this.orders.readOrder(request.stream, orderId)?.order;
      const decision = venueDecision(order?.commandId === commandId ? [order] : []);
      if (!matches || decision === 'bound' || command.orderId !== undefined) return matches && decision === 'bound';
      const answered = attempts.some((attempt) => attempt.attemptId === attemptId && attempt.state === 'rejected');
      return state !== 'rejected' || !(answered || order?.status === 'rejected');
    });
  }

  private rivalsOf(commandId: string): Rival[] {
    const command = this.commands.get(commandId);
    if (command === undefined || command.request.kind === 'place') return [];
    const { request, orderId, createdAtMs } = command;
    const firstOf = (each: Command): Command => {
      const named = each.supersedes === undefined ? undefined : this.commands.get(each.supersedes);
      return named === undefined ? each : firstOf(named);
    };
    const isRival = (other: Command) =>
      request.kind === 'replace'
        ? other !== command && firstOf(other) === firstOf(command)
        : other !== command &&
          other.request.kind === 'cancel' &&
          other.request.stream === request.stream &&
          other.orderId === orderId &&
          (other.resolvedAtMs === undefined || other.resolvedAtMs > createdAtMs - rivalsWithinMs);
    const rivals = this.oldestFirst()
      .filter((other) => isRival(other) && other.state !== 'refused' && other.state !== 'not_sent')
      .sort((a, b) => (a.commandId < b.commandId ? -1 : 1));
    return rivals.map((other) => ({ commandId, rivalId: other.commandId }));
  }

  private transactOpen(asked: NewCommand, fence: Fence): OpenResult {
    if (!this.holds(fence)) return { kind: 'fenced' };
    const key = keyOf(asked.principal, asked.idempotencyKey);
    const earlier = this.commands.get(this.byKey.get(key) ?? '');
    if (earlier !== undefined && (earlier.resolvedAtMs ?? asked.atMs) > asked.atMs - keyKeptMs)
      return earlier.requestHash === asked.requestHash
        ? { kind: 'replayed', command: earlier }
        : { kind: 'key_reused' };
    if (this.usesReferenceAgain(asked)) return { kind: 'caller_ref_reused' };
    if (asked.supersedes !== undefined && !this.maySupersede(asked.supersedes, asked))
      return { kind: 'not_superseded' };
    mustBeWellFormed(asked);
    must(!this.commands.has(asked.commandId), '23505', `${asked.commandId} is there already`);
    const { attemptId, refusal, atMs } = asked;
    if (attemptId !== undefined) this.mustBeNew(attemptId);
    const prepared = opened(asked, fence);
    this.byKey.set(key, prepared.commandId);
    if (attemptId !== undefined) this.byAttempt.set(attemptId, prepared.commandId);
    const sendingAtMs = this.mayBeginSending(prepared) ? asked.sendingAtMs : undefined;
    const command = opened(asked, fence, sendingAtMs);
    const code = refusal !== undefined ? 'refused' : sendingAtMs === undefined ? 'prepared' : 'sending';
    this.commit(command, [{ ...note(code, attemptId, sendingAtMs ?? atMs), detail: { ...refusal } }]);
    return { kind: 'opened', command };
  }

  private transactStep(step: CommandStep, fence: Fence): StepResult {
    if (!this.holds(fence)) return { kind: 'fenced' };
    const command = this.ofShard(step.commandId, fence);
    const { attempt: move, nextAttemptId } = step;
    const attempt = move && command.attempts.find(({ attemptId }) => attemptId === move.attemptId);
    if (command.version !== step.version || attempt?.state !== move?.from) return { kind: 'stale', command };
    mustMoveCommand(command, step.to);
    const { orderId = step.orderId } = command;
    must(
      step.orderId === undefined || step.orderId === orderId || mayMake(command),
      'TM010',
      `${command.commandId} is about ${orderId}, and stays so`,
    );
    if (attempt !== undefined && move !== undefined) mustMoveAttempt(attempt, move.to);
    if (nextAttemptId !== undefined) {
      must(step.to === 'open', 'TM010', `${command.commandId} is ${step.to} and prepares another attempt`);
      mustNameAttempt(nextAttemptId);
      this.mustBeNew(nextAttemptId);
    }
    const next = this.shown(stepped(command, step, fence));
    mustHoldAttempts(next);
    if (nextAttemptId !== undefined) this.byAttempt.set(nextAttemptId, next.commandId);
    this.commit(next, step.evidence);
    const halts = this.haltsOf(command, step);
    return { kind: 'stepped', command: next, ...(halts.length > 0 && { halts }) };
  }

  /** Those that a step causes. */
  private haltsOf({ state, request: { accountId } }: Command, { to, haltAt, lateLanding, atMs }: CommandStep): Halt[] {
    const becomesDoubtful = isDoubtful(to) && !isDoubtful(state);
    const scope = { kind: 'account', accountId } as const;
    return [
      ...(becomesDoubtful ? this.haltDoubtful([accountId], haltAt, atMs) : []),
      ...(lateLanding === undefined ? [] : [this.halt(scope, 'late_landing', lateLanding, atMs)]),
    ];
  }

  /**
   * What the holders before this one left: sent or not, nobody will say any more. True: it is
   * unknown by that.
   */
  private sweep(command: Command, fence: Fence, atMs: number): boolean {
    const step = takenOver(command, fence, atMs);
    if (step === undefined) return false;
    const next = stepped(command, step, fence);
    this.commit(next, step.evidence);
    return command.state === 'open' && next.state === 'unknown';
  }

  /** With the status of its order, as of now. */
  private shown<C extends Command | undefined>(command: C): C {
    if (command?.orderId === undefined) return command;
    const order = this.orders.readOrder(command.request.stream, command.orderId)?.order;
    return order?.accountId === command.request.accountId ? { ...command, orderStatus: order.status } : command;
  }

  private commit(stepped: Command, evidence: readonly NewEvidence[], told: 'told' | 'quiet' = 'told'): void {
    const command = this.shown(stepped);
    const before = this.commands.get(command.commandId);
    this.commands.set(command.commandId, command);
    this.append(command.commandId, evidence);
    if (told === 'told') this.events.push({ number: this.events.length + 1, command, evidence });
    this.onCommitted(command, before);
  }

  private append(commandId: string, evidence: readonly NewEvidence[]): void {
    const before = this.evidence.get(commandId) ?? [];
    this.evidence.set(commandId, [
      ...before,
      ...evidence.map((each, i) => ({ ...each, number: before.length + i + 1 })),
    ]);
  }

  private oldestFirst(): Command[] {
    return [...this.commands.values()].sort(
      (a, b) => a.createdAtMs - b.createdAtMs || (a.commandId < b.commandId ? -1 : 1),
    );
  }

  private ofShard(commandId: string, { shard }: Fence): Command {
    const command = this.commands.get(commandId);
    mustBeThere(command?.shard === shard ? command : undefined, commandId);
    return command as Command;
  }

  private holds({ shard, epoch }: Fence): boolean {
    return (this.epochOf ?? ((of) => this.epochs.get(of)))(shard) === epoch;
  }

  private usesReferenceAgain(asked: NewCommand): boolean {
    const sameRef = ({ principal, callerRef }: Command) =>
      principal === asked.principal && callerRef === asked.callerRef;
    return asked.callerRefOnce === true && [...this.commands.values()].some(sameRef);
  }

  private maySupersede(commandId: string, { request: { accountId, kind }, atMs }: NewCommand): boolean {
    const command = this.commands.get(commandId);
    if (command?.request.accountId !== accountId || command.request.kind !== kind) return false;
    const isOvertaken = command.state === 'conflict' && kind === 'replace' && command.createdAtMs <= atMs - 600_000;
    if (!isOvertaken && !(command.state === 'unknown' && command.presumedAbsent)) return false;
    if (kind === 'replace') return true;
    const cameToNothing = ({ state }: Command) => state === 'not_sent' || state === 'refused';
    return this.oldestFirst().every((other) => other.supersedes !== commandId || cameToNothing(other));
  }

  private mustBeNew(attemptId: string): void {
    must(!this.byAttempt.has(attemptId), '23505', `${attemptId} names two attempts`);
  }
}

/** The simulator sends nothing under limits, and nobody waits for a second principal there. */
function notSimulated(): never {
  throw new Error('the journal in memory has no limits and no approvals: a test of them takes a CommandRig');
}

function note(code: string, attemptId: string | undefined, atMs: number): NewEvidence {
  return { kind: 'note', code, detail: {}, atMs, ...(attemptId !== undefined && { attemptId }) };
}

function keyOf(principal: string, idempotencyKey: string): string {
  return JSON.stringify([principal, idempotencyKey]);
}

function isActive({ clearedAtMs }: Halt): boolean {
  return clearedAtMs === undefined;
}

function sameScope(a: Halt['scope'], b: Halt['scope']): boolean {
  return a.kind === 'service' ? b.kind === 'service' : b.kind === 'account' && a.accountId === b.accountId;
}

/** A replace may make another order in place of the one that it named. */
function mayMake({ request, orderId }: Command): boolean {
  return request.kind === 'replace' && request.orderId === orderId;
}
