import type { VNode } from 'preact';
import type { CommandHistory } from '../../contract/rest-answers.ts';
import { commandStateText, commandTone, probeText } from '../parts/command-words.ts';
import { useConsole } from '../parts/console.ts';
import { Age } from '../parts/time-text.tsx';
import { useValue } from '../parts/use-value.ts';
import { isUnresolved } from '../state/commands/command-row.ts';

/** The stored result beside the one by the facts, and when the platform is asked next. */
export function CommandVerdict({ command }: { readonly command: CommandHistory }) {
  const { recomputed } = command;
  const [tone, verdict] = judge(command);
  return (
    <section class="panel verdict-panel" aria-labelledby="verdict-title">
      <h2 id="verdict-title" class="unseen">
        Result
      </h2>
      <div class="verdict-sides">
        <div>
          <span class="hint">Stored</span>{' '}
          <b class={`status ${commandTone(command.state)}`}>{commandStateText(command.state)}</b>
        </div>
        <div>
          <span class="hint">Computed again from the facts</span>{' '}
          <b class={`status ${commandTone(recomputed.state)}`}>{commandStateText(recomputed.state)}</b>
          <span class="soft">because {recomputed.rule}</span>
        </div>
      </div>
      <p class={tone}>{verdict}</p>
      {isUnresolved(command) && (
        <p>
          Waiting for <Age since={command.createdAt} />.
        </p>
      )}
      {command.nextProbe !== undefined && (
        <p>
          <NextProbe {...command.nextProbe} />
        </p>
      )}
    </section>
  );
}

/** Whether both sides agree, in words. */
function judge({ recomputed, resolvedAt }: CommandHistory): readonly [tone: string, verdict: string] {
  const { agrees, complete } = recomputed;
  if (agrees && complete) return ['agrees', 'Both agree.'];
  if (agrees)
    return ['agrees', 'Both agree. Some updates of the order are not kept any more, or were too many to read.'];
  if (!complete)
    return ['soft', 'They differ, which proves nothing here: some updates of the order could not be read.'];
  if (resolvedAt === undefined) return ['soft', 'The facts are a moment ahead: the result is about to be stored.'];
  return ['differs', 'They differ, so a person has to look.'];
}

function NextProbe({ at, by }: NonNullable<CommandHistory['nextProbe']>): VNode {
  const { pulse, ports } = useConsole();
  useValue(pulse);
  const inMs = Date.parse(at) - ports.nowMs();
  const how = probeText(by);
  if (inMs <= 0) return <span>The platform is being asked now, {how}.</span>;
  const seconds = Math.ceil(inMs / 1000);
  const wait = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  return (
    <span>
      The platform is asked again in {wait}, {how}.
    </span>
  );
}
