import type { Command } from '../domain/command.ts';
import { commandTransition, standingOf } from '../domain/command-machine.ts';
import { type CompleteRead, isMiss, isPresumedAbsent, lastPossibleSendMs } from '../domain/presumed-absent.ts';
import type { NewEvidence } from './command-journal.ts';
import type { Decision } from './decision.ts';

export interface MissedBy {
  readonly read: CompleteRead;
  /** `reference`: the list filtered by our reference. `account`: the account's one reader. */
  readonly by: 'reference' | 'account';
  /** Milliseconds since the last possible send, by the monotonic clock: a step of the wall clock makes nothing absent. */
  readonly ageMs: number;
  readonly atMs: number;
}

/**
 * A complete read that did not show an unknown place, as a fact; undefined where it says nothing about it. A command that is labelled absent is not counted further: there
 * is nothing more that misses could say.
 */
export function missOf(command: Command, { read, by, atMs }: MissedBy): NewEvidence | undefined {
  const isOpenQuestion = command.request.kind === 'place' && command.orderId === undefined && !command.presumedAbsent;
  if (!isOpenQuestion || !isMiss(command, read)) return undefined;
  return { kind: 'read', code: 'missed', detail: { by, startedAtMs: read.startedAtMs, misses: command.misses + 1 }, atMs };
}

/** The step that a miss makes of a command, should it be one too many: the label, never a verdict. */
export function decideAbsence(command: Command, missed: MissedBy): Decision | undefined {
  const { read, ageMs, atMs } = missed;
  const miss = missOf(command, missed);
  if (miss === undefined) return undefined;
  const misses = command.misses + 1;
  const nowMs = (lastPossibleSendMs(command) ?? Number.NaN) + ageMs;
  const isAbsent = isPresumedAbsent({ ...command, misses }, read, nowMs);
  if (!isAbsent || typeof commandTransition('place', standingOf(command), 'presumed_absent') === 'string') return undefined;
  const label: NewEvidence = { kind: 'note', code: 'presumed_absent', detail: { misses, ageMs: Math.round(ageMs) }, atMs };
  return { evidence: 'probe', step: { to: 'unknown', atMs, misses, presumedAbsent: true, evidence: [miss, label] } };
}
