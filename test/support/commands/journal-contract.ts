import { approvalContract } from './journal-contract-approvals.ts';
import { cancelAllContract } from './journal-contract-cancel-alls.ts';
import { cancelTimerContract } from './journal-contract-cancel-timers.ts';
import { haltContract } from './journal-contract-halts.ts';
import { limitContract } from './journal-contract-limits.ts';
import { openContract } from './journal-contract-opening.ts';
import { rivalContract } from './journal-contract-rivals.ts';
import { sendContract } from './journal-contract-sending.ts';
import { stepContract } from './journal-contract-steps.ts';
import { takeOverContract } from './journal-contract-taking-over.ts';
import type { JournalUnderTest } from './journal-fixtures.ts';

/**
 * What the journal promises of commands, halts and cancel-alls, in Postgres and in the memory of
 * the simulator. `make` gives an empty one, on which `fence` holds the shard.
 */
export function simulatedContract(make: () => Promise<JournalUnderTest>): void {
  openContract(make);
  sendContract(make);
  stepContract(make);
  takeOverContract(make);
  rivalContract(make);
  haltContract(make);
  cancelAllContract(make);
  cancelTimerContract(make);
}

/** All that a `CommandJournal` promises. */
export function journalContract(make: () => Promise<JournalUnderTest>): void {
  simulatedContract(make);
  limitContract(make);
  approvalContract(make);
}
