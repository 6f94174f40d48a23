import type { Command } from '../domain/command.ts';
import type { CommandJournal } from './command-journal.ts';
import type { CommandSteps } from './command-steps.ts';
import type { OperatorWord, SettleResult } from './commands.ts';
import { decidePerson, type PersonsOutcome } from './decide-person.ts';
import type { Term } from './term.ts';

export interface SettleByPersonDeps {
  readonly journal: Pick<CommandJournal, 'find'>;
  readonly steps: CommandSteps;
  readonly nowMs: () => number;
}

/** An operator says what became of a command. Recorded as evidence and as its reason; of what is settled already nothing is changed. Never rejects. */
export async function settleByPerson(
  { journal, steps, nowMs }: SettleByPersonDeps,
  commandId: string,
  outcome: PersonsOutcome,
  word: OperatorWord,
  term: Term,
): Promise<SettleResult> {
  try {
    const command = await journal.find(commandId);
    if (command === undefined) return declined('COMMAND_NOT_FOUND', 'no such command');
    if (command.lane !== term.fence.lane) return declined('NOT_LEADER', `the command is of lane ${command.lane}: ask its holder`);
    const atMs = nowMs();
    const result = await steps.commit(command, (newest) => decidePerson(newest, outcome, word, atMs), term);
    if (result.kind === 'over') return declined('NOT_LEADER', 'another process holds the lane');
    if (result.kind === 'stepped') return { kind: 'settled', command: result.command };
    return settledAlready(result.command);
  } catch {
    return declined('STORE_UNAVAILABLE', 'the database could not be reached; ask again to learn whether it was settled');
  }
}

function settledAlready({ state }: Command): SettleResult {
  const message = state === 'open' ? 'its attempt is still under way' : `the command is ${state} already`;
  return declined('ALREADY_SETTLED', message);
}

function declined(code: Extract<SettleResult, { kind: 'declined' }>['code'], message: string): SettleResult {
  return { kind: 'declined', code, message };
}
