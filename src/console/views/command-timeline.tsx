import type { VNode } from 'preact';
import type { CommandHistory } from '../../contract/rest-answers.ts';
import { commandStateText, factDetail, factText, reasonText } from '../parts/command-words.ts';
import { lengthText, Time } from '../parts/time-text.tsx';
import { type Fact, type Step, type TimelineGroup, timelineOf } from '../state/commands/command-timeline.ts';
import { plural } from '../state/text/word-text.ts';

/**
 * Everything that happened, by attempt: each line with its time, and the time since the line
 * before.
 */
export function CommandTimeline({ command }: { readonly command: CommandHistory }) {
  return (
    <ol class="timeline">
      {timelineOf(command).map((group) => (
        <li class="panel" key={group.attempt?.attemptId ?? group.name}>
          <h3>{titleOf(group)}</h3>
          <ol>{group.steps.map((step, at) => stepView(step, group.steps[at - 1]?.at, command))}</ol>
        </li>
      ))}
    </ol>
  );
}

function titleOf({ name, attempt }: TimelineGroup): VNode | string {
  if (name === 'asked') return 'Asked for';
  if (attempt === undefined) return 'What is known';
  return (
    <>
      Attempt {attempt.number} <span class="id soft">{attempt.attemptId}</span>
    </>
  );
}

function stepView(step: Step, before: string | undefined, command: CommandHistory): VNode {
  const { title, detail, facts = [] } = wordsOf(step, command);
  const passed = before === undefined ? undefined : Date.parse(step.at) - Date.parse(before);
  return (
    <li class="step" key={`${step.kind}-${facts[0]?.number ?? step.at}`}>
      <span class="step-time">
        <Time at={step.at} />
        {passed !== undefined && passed > 0 && <span class="soft"> +{lengthText(passed)}</span>}
      </span>
      <div class="step-body">
        <b>{title}</b>
        {detail && <span class="soft">: {detail}</span>}
        {facts.length > 0 && (
          <details>
            <summary>{facts.length === 1 ? 'Fact' : 'Facts'}</summary>
            <pre tabindex={0}>{facts.map((fact) => JSON.stringify(fact, null, 2)).join('\n')}</pre>
          </details>
        )}
      </div>
    </li>
  );
}

interface Words {
  readonly title: string;
  readonly detail?: string | undefined;
  readonly facts?: readonly Fact[];
}

function wordsOf(step: Step, { principal, kind }: CommandHistory): Words {
  switch (step.kind) {
    case 'asked':
      return {
        title: `${principal} asked for this ${kind}`,
        detail: 'it was written to the journal before anything was sent',
      };
    case 'prepared':
      return { title: 'Journaled', detail: 'under a reference of its own' };
    case 'sending':
      return { title: 'Sending', detail: 'the one write of this attempt' };
    case 'answered':
      return {
        title: `Answer: ${commandStateText(step.state)}`,
        detail: step.reason && reasonText(step.reason),
      };
    case 'missed':
      return { title: `${plural(step.facts.length, 'complete read')} did not show it`, facts: step.facts };
    case 'fact':
      return { title: factText(step.fact), detail: factDetail(step.fact), facts: [step.fact] };
  }
}
