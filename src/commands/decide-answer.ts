import { attemptTransition } from '../domain/attempt-machine.ts';
import type { Attempt, Command, Reason } from '../domain/command.ts';
import { type CommandEvent, commandTransition, standingOf } from '../domain/command-machine.ts';
import { pendingByAnswer } from '../domain/pending-by-answer.ts';
import type { NewEvidence } from './command-journal.ts';
import type { Decide, Decision } from './decision.ts';
import type { EntryResult } from './order-entry.ts';

export interface Answer {
  readonly attemptId: string;
  readonly result: EntryResult;
  /** Nothing was written, by our own doing. */
  readonly abandoned: boolean;
  readonly atMs: number;
  /** The attempt to be prepared next, where `result` allows one. */
  readonly nextAttemptId?: string;
}

const longestMessage = 500;

/**
 * What an answer makes of its command. Once it is recorded there is nothing left to decide, so that asking again after a commit whose outcome was lost is safe. A command
 * that the stream has settled meanwhile keeps its state: the answer moves its attempt, and is evidence.
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

/** The answer as a fact, for whoever may still add facts but no verdict: a former holder of the lane. */
export function answerEvidence({ attemptId, result, abandoned, atMs }: Answer): NewEvidence {
  const detail = { ...('answer' in result && result.answer), ...(result.reason && { reason: shortened(result.reason) }) };
  return { kind: abandoned ? 'note' : 'answer', code: abandoned ? 'abandoned' : result.kind, detail, attemptId, atMs };
}

/** Whether it stands in the journal that the attempt was answered, and which attempt is to be sent next. */
export function nextAttempt(command: Command, after: string): Attempt | undefined {
  const last = command.attempts.at(-1);
  return command.state === 'open' && last?.state === 'prepared' && last.attemptId !== after ? last : undefined;
}

export function shortened({ code, message, status }: Reason): Reason {
  return { code, message: message.slice(0, longestMessage), ...(status !== undefined && { status }) };
}

function transitionOf(command: Command, event: CommandEvent) {
  const transition = commandTransition(command.request.kind, standingOf(command), event);
  return typeof transition === 'string' ? { to: command.state, alarm: undefined } : { alarm: undefined, ...transition };
}
