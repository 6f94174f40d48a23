import type { Pool } from 'pg';
import type { Command, Evidence } from '../domain/command.ts';
import type { LimitRow } from '../domain/limits.ts';
import type { Stream } from '../domain/order.ts';
import type { Selectable } from '../domain/select-orders.ts';
import type { CommitWitness } from '../runtime/lease.ts';
import { readApprovals, requestApproval, takeApproval } from './approvals.ts';
import type {
  Approval,
  AuditEntry,
  BoundOrder,
  CancelTimer,
  CancelTimersChange,
  ClearingWord,
  CommandJournal,
  CommandStep,
  Fence,
  Halt,
  Landings,
  LimitsChange,
  Miss,
  MissResult,
  NewCancelAll,
  NewCommand,
  NewEvidence,
  OpenCancelAllResult,
  OpenOrder,
  OpenResult,
  PlaceOfAccount,
  RivalCancel,
  SettlingUpdate,
  StepResult,
} from './command-journal.ts';
import {
  readBoundOrders,
  readCommand,
  readCommandByKey,
  readCommandsByAttempts,
  readEvidence,
  readLandings,
  readOpenOrders,
  readRivalCancels,
  readSettlingOrder,
  readSettlingUpdates,
  readUnresolved,
} from './command-reads.ts';
import {
  addAuditEntries,
  addEvidence,
  endCancelAll,
  markSending,
  noteMiss,
  openCancelAll,
  openCommand,
  readCancelAll,
  readCancelAllsInForce,
  readUnseenPlaces,
  stepCommand,
  takeOverCommands,
} from './command-writes.ts';
import { type RetryDeps, retryTransaction } from './retry-transaction.ts';
import {
  changeLimits,
  clearHalts,
  endCancelTimer,
  raiseHalt,
  readActiveHalts,
  readArmedCancelTimers,
  readLimits,
  setCancelTimers,
} from './stops.ts';

export interface CommandJournalDeps extends RetryDeps {
  /** A pool of its own: a caller's command must not queue behind a list of orders, nor a settlement behind callers. */
  readonly pool: Pool;
  /** Called for each write that was refused because a later holder had taken over. */
  readonly onFenced?: () => void;
  /** Remembers the commits that the journal has acknowledged, so that their loss is noticed. */
  readonly witness?: CommitWitness;
}

/**
 * The port `CommandJournal` in Postgres: every write is one statement, one round trip and one commit. Its rules are in `drizzle/0000_baseline.sql`.
 * Writes reject with `JournalError` and are never repeated once they may have committed; reads are.
 */
export class PostgresCommandJournal implements CommandJournal {
  private readonly deps: CommandJournalDeps;

  constructor(deps: CommandJournalDeps) {
    this.deps = deps;
  }

  open(command: NewCommand, fence: Fence): Promise<OpenResult> {
    return this.witnessed(this.noting(openCommand(this.deps, command, fence)));
  }

  async markSending(attemptId: string, atMs: number, fence: Fence): Promise<boolean> {
    const marked = await markSending(this.deps, attemptId, atMs, fence);
    if (marked) this.deps.witness?.sawSending(attemptId);
    return marked;
  }

  step(step: CommandStep, fence: Fence): Promise<StepResult> {
    return this.witnessed(this.noting(stepCommand(this.deps, step, fence)));
  }

  noteMiss(miss: Miss, fence: Fence): Promise<MissResult> {
    return this.noting(noteMiss(this.deps, miss, fence));
  }

  addEvidence(commandId: string, evidence: readonly NewEvidence[]): Promise<void> {
    return addEvidence(this.deps, commandId, evidence);
  }

  takeOver(fence: Fence, atMs: number, recentMs: number): Promise<Command[]> {
    return takeOverCommands(this.deps, fence, atMs, recentMs);
  }

  find(commandId: string): Promise<Command | undefined> {
    return this.read((pool) => readCommand(pool, commandId));
  }

  findByKey(principal: string, idempotencyKey: string): Promise<Command | undefined> {
    return this.read((pool) => readCommandByKey(pool, principal, idempotencyKey));
  }

  findByAttempts(attemptIds: readonly string[]): Promise<Map<string, Command>> {
    return this.read((pool) => readCommandsByAttempts(pool, attemptIds));
  }

  evidenceOf(commandId: string): Promise<Evidence[]> {
    return this.read((pool) => readEvidence(pool, commandId));
  }

  unresolved(limit: number, after?: Pick<Command, 'createdAtMs' | 'commandId'>): Promise<Command[]> {
    return this.read((pool) => readUnresolved(pool, limit, after));
  }

  boundOrders(commandIds: readonly string[]): Promise<BoundOrder[]> {
    return this.read((pool) => readBoundOrders(pool, commandIds));
  }

  rivalCancels(commandIds: readonly string[]): Promise<RivalCancel[]> {
    return this.read((pool) => readRivalCancels(pool, commandIds));
  }

  landings(lane: number, after: string | undefined, limit: number): Promise<Landings> {
    return this.read((pool) => readLandings(pool, lane, after, limit));
  }

  updatesAfter(stream: Stream, orderId: string, afterRevision: number, limit: number): Promise<SettlingUpdate[]> {
    return this.read((pool) => readSettlingUpdates(pool, stream, orderId, afterRevision, limit));
  }

  readOrder(stream: Stream, orderId: string): Promise<SettlingUpdate | undefined> {
    return this.read((pool) => readSettlingOrder(pool, stream, orderId));
  }

  openOrders(accountId: string, after: OpenOrder | undefined, limit: number): Promise<(OpenOrder & Selectable)[]> {
    return this.read((pool) => readOpenOrders(pool, accountId, after, limit));
  }

  unseenPlaces(accountIds: readonly string[]): Promise<(PlaceOfAccount & Selectable)[]> {
    return this.read((pool) => readUnseenPlaces(pool, accountIds));
  }

  openCancelAll(cancelAll: NewCancelAll, fence: Fence): Promise<OpenCancelAllResult> {
    return this.noting(openCancelAll(this.deps, cancelAll, fence));
  }

  findCancelAll(lane: number, principal: string, idempotencyKey: string): Promise<NewCancelAll | undefined> {
    return this.read((pool) => readCancelAll(pool, lane, principal, idempotencyKey));
  }

  cancelAllsInForce(lane: number): Promise<NewCancelAll[]> {
    return this.read((pool) => readCancelAllsInForce(pool, lane));
  }

  async endCancelAll(cancelAllId: string, atMs: number, fence: Fence): Promise<boolean> {
    const held = await endCancelAll(this.deps, cancelAllId, atMs, fence);
    if (!held) this.deps.onFenced?.();
    return held;
  }

  async setCancelTimers(change: CancelTimersChange, fence: Fence): Promise<number | undefined> {
    const firesAtMs = await setCancelTimers(this.deps, change, fence);
    if (firesAtMs === undefined) this.deps.onFenced?.();
    return firesAtMs;
  }

  armedCancelTimers(lane: number): Promise<CancelTimer[]> {
    return this.read((pool) => readArmedCancelTimers(pool, lane));
  }

  async endCancelTimer(timerId: string, fence: Fence): Promise<boolean> {
    const held = await endCancelTimer(this.deps, timerId, fence);
    if (!held) this.deps.onFenced?.();
    return held;
  }

  activeHalts(): Promise<Halt[]> {
    return this.read(readActiveHalts);
  }

  raiseHalt(halt: Halt, fence: Fence | undefined): Promise<Halt | 'fenced'> {
    return this.noting(raiseHalt(this.deps, halt, fence));
  }

  clearHalts(scope: Halt['scope'], word: ClearingWord, fence: Fence): Promise<number | 'kept' | 'fenced'> {
    return this.noting(clearHalts(this.deps, scope, word, fence));
  }

  limits(): Promise<LimitRow[]> {
    return this.read(readLimits);
  }

  changeLimits(change: LimitsChange): Promise<boolean> {
    return changeLimits(this.deps, change);
  }

  requestApproval(approval: Approval): Promise<void> {
    return requestApproval(this.deps, approval);
  }

  approvals(atMs: number): Promise<Approval[]> {
    return this.read((pool) => readApprovals(pool, atMs));
  }

  takeApproval(approvalId: string, word: ClearingWord & { readonly requestId: string }): Promise<Approval | undefined> {
    return takeApproval(this.deps, approvalId, word);
  }

  audit(entries: readonly AuditEntry[]): Promise<void> {
    return addAuditEntries(this.deps, entries);
  }

  private async witnessed<T extends OpenResult | StepResult>(write: Promise<T>): Promise<T> {
    const result = await write;
    if (result.kind === 'opened' || result.kind === 'stepped')
      this.deps.witness?.sawCommand(result.command.commandId, result.command.version);
    return result;
  }

  private async noting<T>(write: Promise<T>): Promise<T> {
    const result = await write;
    const fenced =
      result === 'fenced' || (typeof result === 'object' && result !== null && 'kind' in result && result.kind === 'fenced');
    if (fenced) this.deps.onFenced?.();
    return result;
  }

  private read<T>(work: (pool: Pool) => Promise<T>): Promise<T> {
    return retryTransaction(this.deps, () => work(this.deps.pool));
  }
}
