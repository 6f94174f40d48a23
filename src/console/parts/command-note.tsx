import { useState } from 'preact/hooks';
import type { CommandAnswer } from '../../contract/rest-answers.ts';
import { commandStateText, commandTone } from './command-words.ts';
import { useConsole } from './console.ts';
import { commandLink } from './link.tsx';
import { useWhileShown } from './use-while-shown.ts';

interface CommandNoteProps {
  /** As the service answered it; its further steps are followed. Another one needs another note. */
  readonly command: CommandAnswer;
  /** The order, in words. */
  readonly about: string;
}

/** One line about a command sent by this page: its state now, and a link to the rest. */
export function CommandNote({ command, about }: CommandNoteProps) {
  const { results } = useConsole();
  const [newest, setNewest] = useState<Pick<CommandAnswer, 'version' | 'state' | 'reason'>>(command);
  useWhileShown(
    (signal) =>
      results.add(({ commandId, ...step }) => {
        if (commandId === command.commandId) setNewest((before) => (step.version > before.version ? step : before));
      }, signal),
    [command],
  );
  const why = newest.reason === undefined ? '' : `: ${newest.reason.message}`;
  return (
    <p class="command-note" role="status">
      <span class="soft">
        Your {command.kind} of {about}
      </span>
      <span class={`status ${commandTone(newest.state)}`}>
        {commandStateText(newest.state)}
        {why}
      </span>
      {commandLink(command.commandId, 'all steps')}
    </p>
  );
}
