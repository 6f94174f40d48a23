import { type Command, isFinal } from '../../domain/command.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import type { CommandBook } from './command-book.ts';

interface AwaitDeps {
  readonly journal: Pick<CommandJournal, 'find'>;
  readonly book: Pick<CommandBook, 'get' | 'listen'>;
  readonly clock: Clock;
}

/**
 * How often the journal is asked about a command that this
 * process does not follow, because it stands by.
 */
const pollMs = 500;
/** The same for a command it does follow: its term may end while a caller waits. */
const followedPollMs = 5_000;

/** Nothing more comes by itself: the command is final, or a person has to resolve it. */
function isOver(command: Command): boolean {
  return isFinal(command.state) || command.state === 'conflict';
}

/**
 * The command once it is over, or as it stands after `waitMs`. Undefined: there is no such command,
 * or the journal could not be read within the wait. Never rejects. Where this process follows the
 * command, the answer comes with its commit; elsewhere the journal is asked twice a second.
 */
export async function awaitCommand(deps: AwaitDeps, commandId: string, waitMs: number): Promise<Command | undefined> {
  const { book, clock } = deps;
  const untilMs = clock.monotonicMs() + waitMs;
  const over = new AbortController();
  let newest = book.get(commandId)?.command;
  const stop = book.listen(commandId, (command) => {
    newest = command;
    // With a reason: without one, Node makes an exception with a stack (11 µs, and 2 with it).
    if (isOver(command)) over.abort('over');
  });
  try {
    for (;;) {
      const followed = book.get(commandId) !== undefined;
      if (!followed) {
        const found = await look(deps, commandId);
        if (found === 'none') return newest;
        if (found !== 'unreadable' && (newest === undefined || found.version >= newest.version)) newest = found;
      }
      const leftMs = untilMs - clock.monotonicMs();
      // Also where it goes on after all (a person resolves a conflict):
      // a sleep under this signal would be none.
      if ((newest !== undefined && isOver(newest)) || leftMs <= 0 || over.signal.aborted) return newest;
      await clock.sleep(Math.min(leftMs, followed ? followedPollMs : pollMs), over.signal);
    }
  } finally {
    stop();
  }
}

async function look({ journal }: AwaitDeps, commandId: string): Promise<Command | 'none' | 'unreadable'> {
  try {
    return (await journal.find(commandId)) ?? 'none';
  } catch {
    return 'unreadable';
  }
}
