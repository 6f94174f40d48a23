import type { Command } from '../domain/command.ts';
import type { Clock } from '../runtime/clock.ts';
import type { CommandBook } from './command-book.ts';
import type { CommandJournal } from './command-journal.ts';
import type { CommandSteps } from './command-steps.ts';
import { decideAbsence, type MissedBy, missOf } from './decide-miss.ts';
import type { CompleteProbe } from './probe-watch.ts';
import type { Term } from './term.ts';
import { isFollowed, type Watched } from './watched.ts';

export interface CountMissDeps {
  readonly journal: Pick<CommandJournal, 'noteMiss'>;
  readonly steps: CommandSteps;
  readonly book: CommandBook;
  readonly clock: Clock;
}

/**
 * A complete read did not show the command, though everything that it showed has been judged: counted, durably, as a fact beside the command's steps. A step comes of
 * it only where it brings the label about. Rejects when the journal can't be written.
 */
export async function countMiss(deps: CountMissDeps, entry: Watched, probe: CompleteProbe, term: Term): Promise<void> {
  const { journal, steps, book, clock } = deps;
  const { result, by, calledAtMs } = probe;
  const isShown = by === 'reference' && result.shown.length > 0;
  if (by === 'order' || isShown || calledAtMs < entry.sentAtMs || entry.behind || !isFollowed(entry.command)) return;
  const { startedAtMs, certain } = result;
  const ageMs = clock.monotonicMs() - Math.max(entry.sentAtMs, entry.watchedSinceMs);
  const missed: MissedBy = { read: { startedAtMs, certain }, by, ageMs, atMs: clock.nowMs() };
  const decide = (newest: Command) => (entry.bound.length > 0 ? undefined : decideAbsence(newest, missed));
  const { command } = entry;
  const evidence = entry.bound.length > 0 ? undefined : missOf(command, missed);
  if (evidence === undefined || term.over.aborted) return;
  if (decide(command) !== undefined) {
    await steps.commit(command, decide, term);
    return;
  }
  const { commandId, version } = command;
  const noted = await journal.noteMiss({ commandId, version, evidence }, term.fence);
  // Of one that has moved on it says nothing any more.
  if (noted.kind !== 'fenced') book.adopt(noted.command);
}
