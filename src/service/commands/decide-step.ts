import { pendingByAnswer } from '../../domain/above-baseline.ts';
import { type Attempt, type Command, makesOrder, type Reason } from '../../domain/command.ts';
import { attemptTransition, type CommandEvent, commandTransition, standingOf } from '../../domain/command-machine.ts';
import {
  type CompleteRead,
  isMiss,
  isPresumedAbsent,
  lastPossibleSendMs,
  mayBeAbsent,
} from '../../domain/presumed-absent.ts';
import type { Finding, Verdict } from '../../domain/resolving.ts';
import type { CommandStep, NewEvidence } from '../../store/commands/command-journal.ts';
import type { PersonsResult } from '../../store/commands/halts-journal.ts';
import type { WriteResult } from '../../venue/write-result.ts';
import type { OperatorWord } from './commands.ts';
import { secondPrincipal } from './four-eyes.ts';

/**
 * The evidence for it: a metric label. `stream`, `snapshot`, `reply`, `probe`, `correction`: its
 * update's cause. `log`: bindings read back.
 */
type ResolvingEvidence = 'stream' | 'snapshot' | 'reply' | 'probe' | 'correction' | 'log' | 'answer' | 'person';

/** The change to write to a command, decided on one version of it. */
export interface Decision {
  readonly step: Omit<CommandStep, 'commandId' | 'version'>;
  readonly evidence: ResolvingEvidence;
  /**
   * An order appeared although its command had been resolved as never placed, or was presumed
   * absent: placing on the account halts with this step.
   */
  readonly lateLanding?: true;
  /**
   * For example: the order has other terms than were sent, or a version of a newer source epoch. It
   * is reported to people and resolves nothing.
   */
  readonly alarm?: string;
}

/** Pure: the same command gives the same decision. Undefined: there is nothing to write. */
export type Decide = (command: Command) => Decision | undefined;

/** The result of one attempt's write, and when it came. */
export interface Answer {
  readonly attemptId: string;
  readonly result: WriteResult;
  /** Nothing was written, because we gave up the write ourselves. */
  readonly abandoned: boolean;
  readonly atMs: number;
  /** The attempt to be prepared next, where `result` allows one. */
  readonly nextAttemptId?: string;
}

const longestMessage = 500;

/**
 * The step after an answer. Once the answer is recorded nothing is left to decide, so asking again
 * after a lost commit is safe. If the stream has resolved the command in the meantime, it keeps its
 * state: the answer moves its attempt, and is evidence.
 */
export function decideAnswer(answer: Answer): Decide {
  return (command) => {
    const attempt = command.attempts.find(({ attemptId }) => attemptId === answer.attemptId);
    const event = `answered_${answer.result.kind}` as const;
    const moved = attempt && attemptTransition(attempt.state, answer.abandoned ? 'abandoned' : event);
    if (attempt === undefined || moved === undefined || moved === 'ignored' || moved === 'impossible') return undefined;
    const mayRepeat = answer.nextAttemptId !== undefined && command.state === 'open';
    const transition = transitionOf(command, mayRepeat ? 'repeated' : event);
    const { atMs, result } = answer;
    const reason = result.reason && shortened(result.reason);
    const changes = transition.to !== command.state;
    const seenPendingAt =
      transition.to === 'accepted' && 'answer' in result ? pendingByAnswer(command, result.answer) : undefined;
    return {
      evidence: 'answer',
      ...(transition.alarm !== undefined && { lateLanding: true }),
      step: {
        to: transition.to,
        atMs,
        ...(reason !== undefined && (changes || mayRepeat) && { reason }),
        ...(seenPendingAt !== undefined && command.seenPendingAt === undefined && { seenPendingAt }),
        attempt: { attemptId: attempt.attemptId, from: attempt.state, to: moved.to, ...(reason && { reason }) },
        ...(mayRepeat && { nextAttemptId: answer.nextAttemptId }),
        evidence: [answerEvidence(answer)],
      },
    } satisfies Decision;
  };
}

/** The answer as a fact, for a former shard holder: it may still add facts but no verdict. */
export function answerEvidence({ attemptId, result, abandoned, atMs }: Answer): NewEvidence {
  const detail = {
    ...('answer' in result && result.answer),
    ...(result.reason && { reason: shortened(result.reason) }),
  };
  return { kind: abandoned ? 'note' : 'answer', code: abandoned ? 'abandoned' : result.kind, detail, attemptId, atMs };
}

/** The attempt to be sent next, once the journal has the answer to the attempt `after`. */
export function nextAttempt(command: Command, after: string): Attempt | undefined {
  const last = command.attempts.at(-1);
  return command.state === 'open' && last?.state === 'prepared' && last.attemptId !== after ? last : undefined;
}

function shortened({ code, message, status }: Reason): Reason {
  return { code, message: message.slice(0, longestMessage), ...(status !== undefined && { status }) };
}

function transitionOf(command: Command, event: CommandEvent) {
  const transition = commandTransition(command.request.kind, standingOf(command), event);
  return typeof transition === 'string' ? { to: command.state, alarm: undefined } : { alarm: undefined, ...transition };
}

const causes: readonly string[] = ['stream', 'snapshot', 'reply', 'probe', 'correction'] satisfies ResolvingEvidence[];

/**
 * The step that a finding causes: verdicts and "seen pending" are steps, if the state machine takes
 * them; everything else is reported, not written.
 */
export function decideFinding(command: Command, finding: Finding, atMs: number): Decision | undefined {
  if (finding.kind === 'verdict') return decideVerdict(command, finding, atMs);
  if (finding.kind !== 'reached') return undefined;
  const transition = commandTransition(command.request.kind, standingOf(command), 'reached');
  if (typeof transition === 'string') return undefined;
  const evidence = [{ ...finding.evidence, atMs }];
  return {
    evidence: 'log',
    step: { to: transition.to, atMs, seenPendingAt: finding.at, presumedAbsent: false, evidence },
  };
}

function decideVerdict(command: Command, verdict: Verdict, atMs: number): Decision | undefined {
  const { request } = command;
  const transition = commandTransition(request.kind, standingOf(command), verdict.event);
  if (typeof transition === 'string') return undefined;
  const { to, alarm } = transition;
  // An answer may deny an order we have bound already: its step reports it.
  if (to === command.state && command.orderId === verdict.orderId) return undefined;
  const { orderId, reason, differs } = verdict;
  const isLanding = makesOrder(request) && to !== 'conflict';
  return {
    evidence: resolvingEvidence(verdict),
    ...(alarm !== undefined && { lateLanding: true }),
    ...(differs !== undefined && { alarm: `the order differs from what was sent, in ${differs.join(', ')}` }),
    step: {
      to,
      atMs,
      presumedAbsent: false,
      ...(isLanding && { orderId }),
      ...(reason !== undefined && { reason }),
      evidence: [{ ...verdict.evidence, atMs }],
    },
  };
}

function resolvingEvidence({ evidence }: Verdict): ResolvingEvidence {
  const { cause } = evidence.detail;
  return typeof cause === 'string' && causes.includes(cause) ? (cause as ResolvingEvidence) : 'log';
}

export interface MissedBy {
  readonly read: CompleteRead;
  /** `reference`: the list filtered by our reference. `account`: the account's one reader. */
  readonly by: 'reference' | 'account';
  /**
   * Milliseconds since the last possible send, by the monotonic clock: a
   * step of the wall clock makes nothing absent.
   */
  readonly ageMs: number;
  readonly atMs: number;
}

/**
 * A complete read did not show an unknown place: this, as a fact; undefined if the read says
 * nothing about it. After the label absent, misses are not counted: they could add nothing.
 */
export function missOf(command: Command, { read, by, atMs }: MissedBy): NewEvidence | undefined {
  if (!mayBeAbsent(command) || command.presumedAbsent || !isMiss(command, read)) return undefined;
  return {
    kind: 'read',
    code: 'missed',
    detail: { by, startedAtMs: read.startedAtMs, misses: command.misses + 1 },
    atMs,
  };
}

/**
 * The step that a miss causes when it is one too many: it sets
 * the label, and never gives a verdict.
 */
export function decideAbsence(command: Command, missed: MissedBy): Decision | undefined {
  const { read, ageMs, atMs } = missed;
  const miss = missOf(command, missed);
  if (miss === undefined) return undefined;
  const misses = command.misses + 1;
  const nowMs = (lastPossibleSendMs(command) ?? Number.NaN) + ageMs;
  const isAbsent = isPresumedAbsent({ ...command, misses }, read, nowMs);
  if (!isAbsent || typeof commandTransition(command.request.kind, standingOf(command), 'presumed_absent') === 'string')
    return undefined;
  const label: NewEvidence = {
    kind: 'note',
    code: 'presumed_absent',
    detail: { misses, ageMs: Math.round(ageMs) },
    atMs,
  };
  return { evidence: 'probe', step: { to: 'unknown', atMs, misses, presumedAbsent: true, evidence: [miss, label] } };
}

/**
 * The step after an operator's word, on an unknown, accepted or conflicting command. Undefined
 * elsewhere: there a person may not resolve it.
 */
export function decidePerson(
  command: Command,
  result: PersonsResult,
  word: OperatorWord,
  atMs: number,
): Decision | undefined {
  const event: CommandEvent = `person_${result}`;
  const transition = commandTransition(command.request.kind, standingOf(command), event);
  if (typeof transition === 'string') return undefined;
  const { by, reason, requestId, approval } = word;
  return {
    evidence: 'person',
    step: {
      to: transition.to,
      atMs,
      presumedAbsent: false,
      reason: { code: 'RESOLVED_BY_PERSON', message: `${by}: ${reason}`.slice(0, 500) },
      evidence: [
        {
          kind: 'person',
          code: 'resolved',
          detail: { result, by, reason, requestId, ...secondPrincipal(word) },
          atMs,
        },
      ],
      ...(approval !== undefined && { approval }),
    },
  };
}
