import type { CommandRequest } from '../../domain/command.ts';
import type { LimitReading } from '../../domain/limits.ts';
import type { Measure } from '../../domain/measure-command.ts';

/** What the journal looks at before it writes a command. */
export interface JudgedCommand {
  readonly principal: string;
  readonly request: CommandRequest;
  readonly callerRef?: string;
  /** Refuses the command if another command of the principal has this reference already. */
  readonly callerRefOnce?: boolean;
  readonly supersedes?: string;
  readonly atMs: number;
  /** Place and replace: the amounts that are compared with its limits. */
  readonly measure?: Measure;
  /** A real account: nothing is placed unless all required limits are set (`requiredLimits`). */
  readonly limitsRequired?: true;
}

/** What `open` would say of a place or replace just now, in its order. */
export interface JournalPreview {
  readonly callerRefReused: boolean;
  readonly notSuperseded: boolean;
  /** Every limit that applies, in the order in which they are judged. */
  readonly limits: readonly LimitReading[];
}
