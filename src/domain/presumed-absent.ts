import type { Attempt, Command } from './command.ts';

/** A read of the account, or by reference, that was complete and came to its end. Failed and partial ones have no shape here, so they can't count. */
export interface CompleteRead {
  /** Wall time at which it began: it says nothing about what was done later. */
  readonly startedAtMs: number;
  /** False while the platform's store is lost or has a gap: then it shows no absence. */
  readonly certain: boolean;
}

/** How long after the claim of an attempt its one write may still begin (docs/settling.md, "Outcome of a write"). */
const writeWindowMs = 1_000;

/** Reconciliation.md, "Settling unknown", place. */
export const absence = Object.freeze({ minAgeMs: 10 * 60_000, minMisses: 5 });

/**
 * The latest wall time at which a byte of the command may have left us; undefined while that is still open. An answer, a timeout and a takeover all come after the
 * last byte of their attempt; without any of them the write window says how long it may take.
 */
export function lastPossibleSendMs({ state, attempts }: Pick<Command, 'state' | 'attempts'>): number | undefined {
  if (state === 'open') return undefined;
  let lastMs: number | undefined;
  for (const attempt of attempts) {
    const sentMs = possibleSendMs(attempt);
    if (sentMs !== undefined && (lastMs === undefined || sentMs > lastMs)) lastMs = sentMs;
  }
  return lastMs;
}

function possibleSendMs({ state, sendingAtMs, answeredAtMs }: Attempt): number | undefined {
  if (sendingAtMs === undefined || state === 'not_sent' || state === 'refused') return undefined;
  return Math.max(answeredAtMs ?? 0, sendingAtMs + writeWindowMs);
}

/** Whether a read that did not show the command counts among its misses: complete, certain, and begun after the last byte can have left. */
export function isMiss(command: Pick<Command, 'state' | 'attempts'>, read: CompleteRead): boolean {
  const sentMs = lastPossibleSendMs(command);
  return command.state === 'unknown' && read.certain && sentMs !== undefined && read.startedAtMs > sentMs;
}

/**
 * Whether an unknown place may be labelled presumed absent: at least 10 min after the last possible send, 5 misses (`Command.misses`, of `isMiss`), and the last
 * complete read is one, and certain: an account that has become uncertain since proves nothing. A label, no verdict: nothing is freed by it but `supersedes`.
 */
export function isPresumedAbsent(command: Command, lastRead: CompleteRead | undefined, nowMs: number): boolean {
  if (command.request.kind !== 'place' || command.state !== 'unknown' || command.orderId !== undefined) return false;
  const sentMs = lastPossibleSendMs(command);
  if (sentMs === undefined || lastRead === undefined || !isMiss(command, lastRead)) return false;
  return nowMs - sentMs >= absence.minAgeMs && command.misses >= absence.minMisses;
}
