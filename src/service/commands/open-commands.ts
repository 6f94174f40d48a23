import type { Command } from '../../domain/command.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import { type Answer, declined } from './answer.ts';
import type { OpenCommands } from './commands.ts';
import { isFollowed } from './watched.ts';

interface OpenCommandsDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly journal: Pick<CommandJournal, 'unresolved'>;
}

const pageSize = 1_000;

/**
 * Every command of every shard that is being sent, or that the platform can still be asked about.
 * From the journal: a shard between two holders is in no process's memory. Never rejects.
 */
export async function readOpenCommands({ journal, clock, log }: OpenCommandsDeps): Promise<Answer<OpenCommands>> {
  const atMs = clock.nowMs();
  const open: Command[] = [];
  let after: Command | undefined;
  try {
    do {
      const page = await journal.unresolved(pageSize, after);
      open.push(...page.filter((command) => command.state === 'open' || isFollowed(command)));
      after = page.length < pageSize ? undefined : page.at(-1);
      // What is journaled from now on was not open when it was asked.
    } while (after !== undefined && after.createdAtMs <= atMs);
  } catch (err) {
    log.warn({ err }, 'open commands could not be read');
    return declined('STORE_UNAVAILABLE', 'the open commands could not be read: ask again');
  }
  return {
    kind: 'done',
    commands: open.map(({ commandId, request: { accountId } }) => ({ commandId, accountId })),
  };
}
