import { repeated } from '../session/retry-transaction.ts';
import type { CommandJournal } from './command-journal.ts';
import {
  readBoundOrders,
  readCommand,
  readCommandByKey,
  readCommandsByAttempts,
  readLandings,
  readNamedOrders,
  readOpenOrders,
  readPreview,
  readResolvingOrder,
  readResolvingUpdates,
  readRivals,
  readUnresolved,
} from './command-reads.ts';
import {
  addEvidence,
  addToAuditTrail,
  endCancelAll,
  markSending,
  noteMisses,
  openCancelAll,
  openCommand,
  readCancelAll,
  readCancelAllsInForce,
  readUnseenPlaces,
  stepCommand,
} from './command-writes.ts';
import { GroupCommit } from './group-commit.ts';
import {
  changeLimits,
  clearHalts,
  endCancelTimer,
  findApproval,
  raiseHalt,
  readActiveHalts,
  readApprovals,
  readArmedCancelTimers,
  readLimits,
  requestApproval,
  setCancelTimers,
} from './halts.ts';
import type { JournalDeps } from './journal-calls.ts';
import { KnownCommands } from './journal-memory.ts';
import { takeOverCommands } from './take-over.ts';

interface CommandJournalDeps extends Omit<JournalDeps, 'groups' | 'known'> {
  /** The results' marks share it. Left out: the journal has its own. */
  readonly groups?: GroupCommit;
}

/**
 * The port `CommandJournal` in Postgres. Commands and the audit trail share a statement and a
 * commit at each moment (`GroupCommit`): a row for each thing that happens, made from the command
 * in memory (`KnownCommands`). People's requests have a statement each. The rules are in
 * `src/store/sql/`. Writes reject with `JournalError`. A write is never repeated once it may have
 * committed; a read is.
 */
export function createPostgresJournal(given: CommandJournalDeps): CommandJournal {
  const deps: JournalDeps = {
    ...given,
    groups: given.groups ?? new GroupCommit(given),
    known: new KnownCommands(given),
  };

  const read = repeated(deps);

  function write<Args extends unknown[], Result>(statement: (to: JournalDeps, ...args: Args) => Result) {
    return (...args: Args) => statement(deps, ...args);
  }

  return {
    open: write(openCommand),
    preview: read(readPreview),
    markSending: write(markSending),
    step: write(stepCommand),
    noteMisses: write(noteMisses),
    addEvidence: write(addEvidence),
    takeOver: write(takeOverCommands),
    find: read(readCommand),
    findByKey: read(readCommandByKey),
    findByAttempts: read(readCommandsByAttempts),
    unresolved: read(readUnresolved),
    boundOrders: read(readBoundOrders),
    rivals: read(readRivals),
    landings: read(readLandings),
    updatesAfter: read(readResolvingUpdates),
    readOrder: read(readResolvingOrder),
    openOrders: read(readOpenOrders),
    namedOrders: read(readNamedOrders),
    unseenPlaces: read(readUnseenPlaces),
    openCancelAll: write(openCancelAll),
    findCancelAll: read(readCancelAll),
    cancelAllsInForce: read(readCancelAllsInForce),
    endCancelAll: write(endCancelAll),
    setCancelTimers: write(setCancelTimers),
    armedCancelTimers: read(readArmedCancelTimers),
    endCancelTimer: write(endCancelTimer),
    activeHalts: read(readActiveHalts),
    raiseHalt: write(raiseHalt),
    clearHalts: write(clearHalts),
    limits: read(readLimits),
    changeLimits: write(changeLimits),
    requestApproval: write(requestApproval),
    approvals: read(readApprovals),
    findApproval: read(findApproval),
    addToAuditTrail: write(addToAuditTrail),
    hurry: () => deps.groups.hurry(),
  };
}
