import { inParallel } from '../../runtime/waiting.ts';
import { type Miss, maxMisses } from '../../store/commands/command-journal.ts';
import type { Term } from '../../store/commands/term.ts';
import type { CommandParts } from './command-parts.ts';
import { type Decide, decideAbsence, type MissedBy, missOf } from './decide-step.ts';
import type { CompleteProbe } from './probe-watch.ts';
import { isFollowed, type Watched } from './watched.ts';

type CountMissesDeps = Pick<CommandParts, 'journal' | 'steps' | 'book' | 'clock' | 'log'>;

const stepsAtOnce = 8;

/**
 * A complete read did not show these commands, and everything it showed has been judged: counts
 * this durably, as a fact beside each command's steps. It leads to a step only where it sets the
 * label. Never rejects: a miss that could not be written is not counted.
 */
export async function countMisses(
  deps: CountMissesDeps,
  entries: readonly Watched[],
  probe: CompleteProbe,
  term: Term,
): Promise<void> {
  const misses: Miss[] = [];
  const labelled: { readonly entry: Watched; readonly missed: MissedBy }[] = [];
  for (const entry of entries) {
    const { command } = entry;
    const missed = missedBy(deps, entry, probe);
    const evidence = missed && missOf(command, missed);
    if (missed === undefined || evidence === undefined) continue;
    if (decideAbsence(command, missed) !== undefined) labelled.push({ entry, missed });
    else misses.push({ commandId: command.commandId, version: command.version, evidence });
  }
  for (let at = 0; at < misses.length; at += maxMisses) await note(deps, misses.slice(at, at + maxMisses), term);
  await inParallel(labelled, stepsAtOnce, ({ entry, missed }) => label(deps, entry, missed, term));
}

/** Undefined: the read says nothing about this command. */
function missedBy({ clock }: CountMissesDeps, entry: Watched, probe: CompleteProbe): MissedBy | undefined {
  const { look, by, calledAtMs } = probe;
  const isShown = entry.bound.length > 0 || (by === 'reference' && look.shown.length > 0);
  if (by === 'order' || isShown || calledAtMs < entry.sentAtMs || entry.behind || !isFollowed(entry.command))
    return undefined;
  const ageMs = clock.monotonicMs() - Math.max(entry.sentAtMs, entry.watchedSinceMs);
  const atMs = clock.nowMs();
  // The look has the time of this machine; the command's sends are by the clock of all processes.
  const read = { ...look, startedAtMs: atMs - Math.ceil(clock.monotonicMs() - calledAtMs) };
  return { read, by, ageMs, atMs };
}

async function note(deps: CountMissesDeps, misses: readonly Miss[], term: Term): Promise<void> {
  const { journal, book, log } = deps;
  if (term.over.aborted) return;
  try {
    const result = await journal.noteMisses(misses, term.fence);
    if (result.kind === 'fenced') return;
    const versions = new Map(misses.map(({ commandId, version }) => [commandId, version]));
    for (const { commandId, misses: count } of result.noted) {
      const command = book.get(commandId)?.command;
      if (command !== undefined && command.version === versions.get(commandId))
        book.adopt({ ...command, misses: count });
    }
    // They have moved on: the miss no longer says anything.
    for (const command of result.moved) book.adopt(command);
  } catch (err) {
    // One that is gone holds back none of the others.
    if (misses.length > 1 && (err as { readonly code?: unknown }).code === 'NO_SUCH_COMMAND') {
      for (const miss of misses) await note(deps, [miss], term);
      return;
    }
    const commandIds = misses.slice(0, 10).map(({ commandId }) => commandId);
    log.warn({ err, commandIds, misses: misses.length }, 'a read that did not show commands could not be recorded');
  }
}

async function label(deps: CountMissesDeps, entry: Watched, missed: MissedBy, term: Term): Promise<void> {
  const { steps, log } = deps;
  if (term.over.aborted) return;
  try {
    const decide: Decide = (newest) => (entry.bound.length > 0 ? undefined : decideAbsence(newest, missed));
    await steps.commit(entry.command, decide, term);
  } catch (err) {
    const { commandId } = entry.command;
    log.warn({ err, commandId }, 'a read that did not show a command could not be recorded');
  }
}
