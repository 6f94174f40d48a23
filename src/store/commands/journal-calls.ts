import type { Pool } from 'pg';
import type { CommitCheckpoint } from '../../runtime/lease.ts';
import type { PoolDeps } from '../session/retry-transaction.ts';
import type { CommandJournal } from './command-journal.ts';
import type { GroupCommit } from './group-commit.ts';
import type { KnownCommands } from './journal-memory.ts';

/** For writes that share commits, and know the rows before them. */
export interface JournalDeps extends PoolDeps {
  /**
   * A pool for the journal alone: a caller's command must not queue behind a list of orders, nor a
   * resolution behind callers.
   */
  readonly pool: Pool;
  readonly groups: GroupCommit;
  readonly known: KnownCommands;
  /** Remembers the commits the journal has acknowledged, so their loss is noticed. */
  readonly checkpoint?: CommitCheckpoint;
}

/** A method of the port, as a function: arguments, result and promises are the port's. */
export type JournalWrite<Name extends keyof CommandJournal> = (
  deps: JournalDeps,
  ...asked: Parameters<CommandJournal[Name]>
) => ReturnType<CommandJournal[Name]>;

/** The same for a read. */
export type JournalRead<Name extends keyof CommandJournal> = (
  pool: Pool,
  ...asked: Parameters<CommandJournal[Name]>
) => ReturnType<CommandJournal[Name]>;
