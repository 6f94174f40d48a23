import { type Attempt, type AttemptState, attemptPrefix, type Command, type CommandState } from '../../src/domain/command.ts';
import type { NewCommand } from '../../src/store/command-journal.ts';

/** What a database would have refused: whoever asks for it has a mistake, whatever the answer would have been. */
export class JournalViolation extends Error {}

/** Where an attempt may go. Prepared → sending happens once, by `markSending` alone; `unknown` may still learn what it was. */
const attemptMoves: Readonly<Record<AttemptState, readonly AttemptState[]>> = {
  prepared: ['not_sent'],
  sending: ['not_sent', 'refused', 'rejected', 'accepted', 'unknown'],
  unknown: ['unknown', 'refused', 'rejected', 'accepted', 'not_sent'],
  not_sent: ['not_sent'],
  refused: ['refused'],
  rejected: ['rejected'],
  accepted: ['accepted'],
};

/** A final command only moves to what somebody has seen, or said, of it since. */
const commandMoves: Readonly<Record<CommandState, readonly CommandState[]>> = {
  open: ['open', 'refused', 'not_sent', 'accepted', 'unknown', 'applied', 'rejected', 'moot', 'conflict'],
  unknown: ['refused', 'not_sent', 'accepted', 'unknown', 'applied', 'rejected', 'moot', 'conflict'],
  accepted: ['accepted', 'unknown', 'not_sent', 'applied', 'rejected', 'moot', 'conflict'],
  conflict: ['conflict', 'applied', 'rejected', 'moot', 'not_sent', 'refused'],
  refused: ['refused', 'moot', 'accepted', 'applied', 'rejected', 'conflict'],
  not_sent: ['not_sent', 'accepted', 'applied', 'rejected', 'conflict'],
  applied: ['applied', 'conflict'],
  rejected: ['rejected', 'accepted', 'applied', 'conflict'],
  moot: ['moot', 'accepted', 'applied', 'rejected', 'conflict'],
};

/** Throws where the rules of the journal are broken. */
export function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new JournalViolation(what);
}

export function mustBeWellFormed(command: NewCommand): void {
  const { attemptId, refusal, commandId } = command;
  must((attemptId === undefined) !== (refusal === undefined), `${commandId} has an attempt or a refusal, one of the two`);
  must(attemptId === undefined || attemptId.startsWith(attemptPrefix), `${attemptId} does not begin as attempt ids do`);
  must(command.supersedes === undefined || command.request.kind !== 'cancel', `${commandId} supersedes, and is a cancel`);
}

export function mustMoveCommand(command: Command, to: CommandState): void {
  must(commandMoves[command.state].includes(to), `${command.commandId} may not go from ${command.state} to ${to}`);
}

export function mustMoveAttempt(attempt: Attempt, to: AttemptState): void {
  must(attemptMoves[attempt.state].includes(to), `${attempt.attemptId} may not go from ${attempt.state} to ${to}`);
}

/** Invariant 12 as a database holds it: numbers without a hole, and at most one attempt of which it is not known that it came to nothing. */
export function mustHoldAttempts({ commandId, attempts }: Command): void {
  must(
    attempts.every(({ number }, i) => number === i + 1),
    `the attempts of ${commandId} have holes`,
  );
  const mayStand = attempts.filter(({ state }) => state !== 'not_sent' && state !== 'refused');
  must(mayStand.length <= 1, `${commandId} has ${mayStand.length} attempts that may have been sent`);
}
