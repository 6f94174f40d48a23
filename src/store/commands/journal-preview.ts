import type { CommandRequest } from '../../domain/command.ts';
import type { LimitReading } from '../../domain/limits.ts';
import type { Measure } from '../../domain/measure-command.ts';

/** The journal looks at this before it writes a command. */
export interface JudgedCommand {
  readonly principal: string;
  readonly request: CommandRequest;
  readonly callerRef?: string;
  /** Refuses the command if another command already has the principal's reference. */
  readonly callerRefOnce?: boolean;
  readonly supersedes?: string;
  readonly atMs: number;
  /** Place and replace: the amounts compared with the limits. */
  readonly measure?: Measure;
  /** A real account: nothing is placed unless all required limits are set (`requiredLimits`). */
  readonly limitsRequired?: true;
}

/** The answer `open` would give now to a place or replace, in its order. */
export interface JournalPreview {
  readonly callerRefReused: boolean;
  readonly notSuperseded: boolean;
  /** Every limit that applies, in the order they are judged. */
  readonly limits: readonly LimitReading[];
}
