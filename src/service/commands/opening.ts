import type { CommandRequest } from '../../domain/command.ts';
import type { Watched } from './watched.ts';

/** The state in which attempt 1 enters the journal. */
export type OpenedAs = 'sending' | 'prepared';

/** Attempt 1 of a command that was opened as SENDING. */
interface OpenedSending {
  readonly attemptId: string;
  /**
   * Monotonic: when the journal was asked to open it. Undefined: its answer was lost, and the
   * command was found by a look-up. That permits no write.
   */
  readonly askedAtMs: number | undefined;
}

/**
 * A command that is in the journal, and watched. `sending` undefined: it was opened as PREPARED.
 */
interface OpenedCommand {
  readonly watched: Watched;
  readonly sending: OpenedSending | undefined;
}

/**
 * Where a command's submission, which writes the command to the journal, meets its first attempt,
 * which knows when the connection is there.
 *
 * States: connecting → asked for, as `sending` or as `prepared` → over, with or without a command.
 * Invariant: the first that asks decides how it is opened. The journal is written once, after that.
 *
 * A replace is asked for as `prepared` from the beginning. What comes of it shows on its order
 * alone, and other replaces of the order show there too. Its opening may be journaled late, without
 * an answer, when another replace has been sent: as `sending` it would be resolved by what that one
 * came to (seed 1028 of the simulator).
 */
export class Opening {
  private readonly want = Promise.withResolvers<OpenedAs>();
  private readonly result = Promise.withResolvers<OpenedCommand | undefined>();
  /** For when the journal has answered, or is not asked any more. */
  readonly resolve: (opened: OpenedCommand | undefined) => void = this.result.resolve;

  constructor({ kind }: Pick<CommandRequest, 'kind'>) {
    if (kind === 'replace') this.want.resolve('prepared');
  }

  /** Resolves once it is asked for. */
  get wanted(): Promise<OpenedAs> {
    return this.want.promise;
  }

  /**
   * Asks for the opening, and waits for its result; undefined: the command was not journaled, and
   * nothing may be written. It may be open in another state than `as`. Never rejects.
   */
  ask(as: OpenedAs): Promise<OpenedCommand | undefined> {
    this.want.resolve(as);
    return this.result.promise;
  }
}
