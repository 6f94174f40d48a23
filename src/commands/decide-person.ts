import type { Command } from '../domain/command.ts';
import { type CommandEvent, commandTransition, standingOf } from '../domain/command-machine.ts';
import type { OperatorWord } from './commands.ts';
import type { Decision } from './decision.ts';

export type PersonsOutcome = 'applied' | 'rejected' | 'not_sent' | 'moot';

/** An operator's word, where a person may say it: of what is unknown, accepted or in conflict. Undefined elsewhere. */
export function decidePerson(command: Command, outcome: PersonsOutcome, word: OperatorWord, atMs: number): Decision | undefined {
  const event: CommandEvent = `person_${outcome}`;
  const transition = commandTransition(command.request.kind, standingOf(command), event);
  if (typeof transition === 'string') return undefined;
  const { by, reason, requestId } = word;
  return {
    evidence: 'person',
    step: {
      to: transition.to,
      atMs,
      presumedAbsent: false,
      reason: { code: 'SETTLED_BY_PERSON', message: `${by}: ${reason}`.slice(0, 500) },
      evidence: [{ kind: 'person', code: 'settled', detail: { outcome, by, reason, requestId }, atMs }],
    },
  };
}
