import {
  type Attempt,
  type AttemptState,
  attemptPrefix,
  attemptStates,
  type Command,
  type CommandKind,
  type CommandState,
  commandStates,
} from '../../../src/domain/command.ts';
import {
  type AttemptTransition,
  attemptEvents,
  attemptTransition,
  commandEvents,
  commandTransition,
  type Standing,
  stateOf,
  type Transition,
} from '../../../src/domain/command-machine.ts';
import type { NewCancelAll } from '../../../src/store/commands/cancel-all-journal.ts';
import type { NewCommand } from '../../../src/store/commands/command-journal.ts';
import type { Halt } from '../../../src/store/commands/halts-journal.ts';

/**
 * As the journal in Postgres names them: a rule of our own, a unique index, a
 * constraint on a row, and what is not there.
 */
type ViolationCode = 'TM010' | '23505' | '23514' | 'NO_SUCH_COMMAND';

/**
 * What a database would have refused: whoever asks for it has a
 * mistake, whatever the answer would have been.
 */
export class JournalViolation extends Error {
  readonly code: ViolationCode;

  constructor(code: ViolationCode, message: string) {
    super(message);
    this.code = code;
  }
}

const kinds: readonly CommandKind[] = ['place', 'replace', 'cancel'];
const standings: readonly Standing[] = [...commandStates, 'presumed_absent', 'bound'];

/**
 * The states to which these transitions lead. An event that is ignored leads to the state itself:
 * it may be written down there.
 */
function endsOf<S extends string>(
  state: S,
  transitions: readonly ({ readonly to: S } | 'ignored' | 'impossible')[],
): Set<S> {
  return new Set(
    transitions.flatMap((next) => (next === 'impossible' ? [] : next === 'ignored' ? [state] : [next.to])),
  );
}

function transitionsOf(state: CommandState): Transition[] {
  const its = standings.filter((standing) => stateOf(standing) === state);
  return its.flatMap((standing) =>
    kinds.flatMap((kind) => commandEvents.map((event) => commandTransition(kind, standing, event))),
  );
}

function transitionsOfAttempt(state: AttemptState): AttemptTransition[] {
  return attemptEvents.map((event) => attemptTransition(state, event));
}

/** Where a command may go, by the table of domain/command-machine.ts. */
export const commandMoves = new Map(commandStates.map((state) => [state, endsOf(state, transitionsOf(state))]));

/**
 * Where an attempt may go, by the table beside it. `sending` is entered by `open` and
 * `markSending`.
 */
export const attemptMoves = new Map(attemptStates.map((state) => [state, endsOf(state, transitionsOfAttempt(state))]));

/** Throws where the rules of the journal are broken. */
export function must(holds: boolean, code: ViolationCode, what: string): asserts holds {
  if (!holds) throw new JournalViolation(code, what);
}

export function mustBeThere<C>(command: C | undefined, commandId: string): asserts command is C {
  must(command !== undefined, 'NO_SUCH_COMMAND', `there is no command ${commandId}`);
}

export function mustBeWellFormed({ attemptId, refusal, commandId, supersedes, request }: NewCommand): void {
  must(
    (attemptId === undefined) !== (refusal === undefined),
    'TM010',
    `${commandId} has an attempt or a refusal, one of the two`,
  );
  if (attemptId !== undefined) mustNameAttempt(attemptId);
  must(supersedes === undefined || request.kind !== 'cancel', '23514', `${commandId} supersedes, and is a cancel`);
}

export function mustNameAttempt(attemptId: string): void {
  must(attemptId.startsWith(attemptPrefix) && attemptId.length <= 64, '23514', `${attemptId} is no id of an attempt`);
}

export function mustMoveCommand(command: Command, to: CommandState): void {
  const may = commandMoves.get(command.state)?.has(to) === true;
  must(may, 'TM010', `${command.commandId} may not go from ${command.state} to ${to}`);
}

export function mustMoveAttempt(attempt: Attempt, to: AttemptState): void {
  const may = attemptMoves.get(attempt.state)?.has(to) === true && to !== 'sending';
  must(may, 'TM010', `${attempt.attemptId} may not go from ${attempt.state} to ${to}`);
}

/**
 * Invariant 12 as a database holds it: at most one attempt of which
 * it is not known that it came to nothing.
 */
export function mustHoldAttempts({ commandId, attempts }: Pick<Command, 'commandId' | 'attempts'>): void {
  const mayStand = attempts.filter(({ state }) => state !== 'not_sent' && state !== 'refused');
  must(mayStand.length <= 1, '23505', `${commandId} has ${mayStand.length} attempts that may have been sent`);
}

/** A halt that is added to these: its id is new, and an account has a name. */
export function mustBeNewHalt({ haltId, scope }: Halt, halts: readonly Halt[]): void {
  must(scope.kind === 'service' || scope.accountId !== '', '23514', `${haltId} is of an account without a name`);
  must(!halts.some((each) => each.haltId === haltId), '23505', `${haltId} names two halts`);
}

export function mustBeNewCancelAll({ cancelAllId, onLanding }: NewCancelAll, others: readonly NewCancelAll[]): void {
  must(
    onLanding === 'cancel' || onLanding === 'leave',
    '23514',
    `${cancelAllId} does not say what becomes of a landing`,
  );
  must(!others.some((each) => each.cancelAllId === cancelAllId), '23505', `${cancelAllId} names two cancel-alls`);
}
