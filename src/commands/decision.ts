import type { Command } from '../domain/command.ts';
import type { CommandStep } from './command-journal.ts';

/** Who settled it: a metric label. `stream`, `snapshot`, `reply`, `probe`, `correction`: the cause of the update that did. `log`: bindings read back. */
export type SettlingEvidence = 'stream' | 'snapshot' | 'reply' | 'probe' | 'correction' | 'log' | 'answer' | 'person';

/** What is to be written of a command, decided on one version of it. */
export interface Decision {
  readonly step: Omit<CommandStep, 'commandId' | 'version'>;
  readonly evidence: SettlingEvidence;
  /** An order appeared although its command had been settled as never placed, or was presumed absent: placing on the account halts before this is written. */
  readonly lateLanding?: true;
  /** The order carries other terms than were sent, a version of a newer source epoch … : told to people, settles nothing. */
  readonly alarm?: string;
}

/** Pure: the same command gives the same decision. Undefined: there is nothing to write. */
export type Decide = (command: Command) => Decision | undefined;
