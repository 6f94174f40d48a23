import type { Pool } from 'pg';
import type { CommitWitness } from '../../runtime/lease.ts';
import { type RetryDeps, retryTransaction } from '../session/retry-transaction.ts';
import { findApproval, readApprovals, requestApproval, takeApproval } from './approvals.ts';
import type { CommandJournal, OpenResult, StepResult } from './command-journal.ts';
import {
  readBoundOrders,
  readCommand,
  readCommandByKey,
  readCommandsByAttempts,
  readEvidence,
  readLandings,
  readNamedOrders,
  readOpenOrders,
  readPreview,
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
import {
  changeLimits,
  clearHalts,
  endCancelTimer,
  holdHalts,
  raiseHalt,
  readActiveHalts,
  readArmedCancelTimers,
  readLimits,
  readWithoutHalt,
  setCancelTimers,
} from './stops.ts';
import type { Fence } from './term.ts';

interface CommandJournalDeps extends RetryDeps {
  /**
   * A pool for the journal alone: a caller's command must not queue behind a list of orders, nor a
   * settlement behind callers.
   */
  readonly pool: Pool;
  /**
   * Called for each write refused because the journal has another epoch: a later holder took over,
   * or the database lost our takeover.
   */
  readonly onFenced?: (fence: Fence) => void;
  /** Remembers the commits the journal has acknowledged, so their loss is noticed. */
  readonly witness?: CommitWitness;
}

/**
 * The port `CommandJournal` in Postgres: every write is one statement, one round trip and one
 * commit. Its rules are in `drizzle/0000_baseline.sql`. Writes reject with `JournalError`. A write
 * is never repeated once it may have committed; a read is.
 */
export function createPostgresJournal(deps: CommandJournalDeps): CommandJournal {
  const { pool, onFenced, witness } = deps;

  function read<Args extends unknown[], Result>(query: (from: Pool, ...args: Args) => Promise<Result>) {
    return (...args: Args) => retryTransaction(deps, () => query(pool, ...args));
  }

  function write<Args extends unknown[], Result>(
    statement: (to: CommandJournalDeps, ...args: Args) => Promise<Result>,
  ) {
    return (...args: Args) => statement(deps, ...args);
  }

  /**
   * `wasFenced`: by this result, the journal has another epoch than the write's fence. The fence
   * comes last.
   */
  function noting<Args extends [...unknown[], Fence | undefined], Result>(
    statement: (to: CommandJournalDeps, ...args: Args) => Promise<Result>,
    wasFenced: (result: Result) => boolean,
  ) {
    return async (...args: Args): Promise<Result> => {
      const result = await statement(deps, ...args);
      const fence = args.at(-1) as Fence | undefined;
      if (fence !== undefined && wasFenced(result)) onFenced?.(fence);
      return result;
    };
  }

  function witnessed<Args extends unknown[], Result extends OpenResult | StepResult>(
    work: (...args: Args) => Promise<Result>,
  ) {
    return async (...args: Args): Promise<Result> => {
      const result = await work(...args);
      if (result.kind === 'opened' || result.kind === 'stepped')
        witness?.sawCommand(result.command.commandId, result.command.version);
      return result;
    };
  }

  return {
    open: witnessed(noting(openCommand, isFenced)),
    preview: read(readPreview),
    markSending: async (attemptId, atMs, fence) => {
      const marked = await markSending(deps, attemptId, atMs, fence);
      if (marked === true) witness?.sawSending(attemptId);
      return marked;
    },
    step: witnessed(noting(stepCommand, isFenced)),
    noteMiss: noting(noteMiss, isFenced),
    addEvidence: write(addEvidence),
    takeOver: write(takeOverCommands),
    find: read(readCommand),
    findByKey: read(readCommandByKey),
    findByAttempts: read(readCommandsByAttempts),
    evidenceOf: read(readEvidence),
    unresolved: read(readUnresolved),
    boundOrders: read(readBoundOrders),
    rivalCancels: read(readRivalCancels),
    landings: read(readLandings),
    updatesAfter: read(readSettlingUpdates),
    readOrder: read(readSettlingOrder),
    openOrders: read(readOpenOrders),
    namedOrders: read(readNamedOrders),
    unseenPlaces: read(readUnseenPlaces),
    openCancelAll: async (...asked) => {
      const result = await noting(openCancelAll, isFenced)(...asked);
      if (result.kind === 'opened') witness?.sawStop({ cancelAllId: result.cancelAll.cancelAllId });
      return result;
    },
    findCancelAll: read(readCancelAll),
    cancelAllsInForce: read(readCancelAllsInForce),
    endCancelAll: noting(endCancelAll, (held) => !held),
    setCancelTimers: noting(setCancelTimers, (firesAtMs) => firesAtMs === undefined),
    armedCancelTimers: read(readArmedCancelTimers),
    endCancelTimer: noting(endCancelTimer, (held) => !held),
    activeHalts: read(readActiveHalts),
    holdHalts: write(holdHalts),
    withoutHalt: read(readWithoutHalt),
    raiseHalt: noting(raiseHalt, isFenced),
    clearHalts: noting(clearHalts, isFenced),
    limits: read(readLimits),
    changeLimits: write(changeLimits),
    requestApproval: write(requestApproval),
    approvals: read(readApprovals),
    findApproval: read(findApproval),
    takeApproval: write(takeApproval),
    audit: write(addAuditEntries),
  };
}

function isFenced(result: unknown): boolean {
  return (
    result === 'fenced' ||
    (typeof result === 'object' && result !== null && 'kind' in result && result.kind === 'fenced')
  );
}
