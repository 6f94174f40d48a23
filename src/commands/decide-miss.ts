import type { Command } from '../domain/command.ts';
import { commandTransition, standingOf } from '../domain/command-machine.ts';
import { type CompleteRead, isMiss, isPresumedAbsent, lastPossibleSendMs } from '../domain/presumed-absent.ts';
import type { NewEvidence } from './command-journal.ts';
import type { Decision } from './decision.ts';

export interface Miss {
  readonly read: CompleteRead;
  /** `reference`: the list filtered by our reference. `account`: the account's one reader. */
  readonly by: 'reference' | 'account';
  /** Milliseconds since the last possible send, by the monotonic clock: a step of the wall clock makes nothing absent. */
  readonly ageMs: number;
  readonly atMs: number;
}

/**
 * A complete read that did not show an unknown place. It is counted, durably, and may bring about the label; never a verdict. A command that has the label is not counted
 * further: there is nothing more that misses could say.
 */
export function decideMiss(command: Command, miss: Miss): Decision | undefined {
  const { read, by, ageMs, atMs } = miss;
  const isOpenQuestion = command.request.kind === 'place' && command.orderId === undefined && !command.presumedAbsent;
  if (!isOpenQuestion || !isMiss(command, read)) return undefined;
  const misses = command.misses + 1;
  const nowMs = (lastPossibleSendMs(command) ?? Number.NaN) + ageMs;
  const labelled =
    isPresumedAbsent({ ...command, misses }, read, nowMs) &&
    typeof commandTransition('place', standingOf(command), 'presumed_absent') !== 'string';
  const detail = { by, startedAtMs: read.startedAtMs, misses };
  const evidence: NewEvidence[] = [{ kind: 'read', code: 'missed', detail, atMs }];
  if (labelled) evidence.push({ kind: 'note', code: 'presumed_absent', detail: { misses, ageMs: Math.round(ageMs) }, atMs });
  return { evidence: 'probe', step: { to: 'unknown', atMs, misses, ...(labelled && { presumedAbsent: true }), evidence } };
}
