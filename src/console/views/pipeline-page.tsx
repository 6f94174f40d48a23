import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { StatusDocument } from '../../contract/status-answer.ts';
import { DoubtNotes } from '../parts/doubt-notes.tsx';
import { staleNote, waitingNote } from '../parts/polled-notes.tsx';
import { lengthText } from '../parts/time-text.tsx';
import { usePolled } from '../parts/use-polled.ts';
import { useValue } from '../parts/use-value.ts';
import { pipelineHistory } from '../state/pipeline-history.ts';
import { type PipelineStep, stepsOf, topicsOf, waitedMs } from '../state/pipeline-steps.ts';
import { ConsumerGroups } from './consumer-groups.tsx';
import { instancesTable, laneFacts } from './lane-facts.tsx';
import { PipelineLines } from './pipeline-lines.tsx';
import type { ScreenProps } from './screen-props.ts';

const doubts = [
  'no_holder',
  'standby',
  'instances_unanswered',
  'canary_late',
  'rows_not_stored',
  'rows_unsent',
  'topics_replaced',
  'topics_differ',
  'clock_skewed',
];

/** The way of the data, from the platform's sockets to each topic, now and in the last hour. */
export function PipelinePage({ state }: ScreenProps) {
  const { status, doubts: all } = useValue(state.status.state);
  const history = useMemo(() => pipelineHistory(state.ports, state.rest), [state]);
  const shown = usePolled(history);
  const fault = all?.find(({ name }) => name === 'service_silent')?.detail;
  return (
    <div class="screen">
      <header class="screen-head">
        <h1>Pipeline</h1>
      </header>
      <DoubtNotes state={state} names={doubts} />
      {staleNote({ value: status, fault })}
      {status === undefined ? (
        <div class="panel">{waitingNote({ fault }, 'the state of the service')}</div>
      ) : (
        pictureOf(status)
      )}
      <h2>The last hour{status?.instances !== undefined && ' of this instance'}</h2>
      {staleNote(shown)}
      {shown.value === undefined ? (
        <div class="panel">{waitingNote(shown, 'the last hour')}</div>
      ) : shown.value.samples.length === 0 ? (
        <p class="hint">This instance has just started: it takes a sample each ten seconds.</p>
      ) : (
        <PipelineLines ports={state.ports} history={shown.value} />
      )}
      {status !== undefined && instancesTable(status)}
      {status !== undefined && laneFacts(status, state.ports.nowMs())}
      <ConsumerGroups state={state} />
    </div>
  );
}

function pictureOf(status: StatusDocument): VNode {
  return (
    <ol class="flow" aria-label="The way of the data">
      {stepsOf(status).map((step) => (
        <li key={step.name} class={step.late ? 'flow-step late' : 'flow-step'}>
          {stepText(step, status)}
        </li>
      ))}
      <li key="topics" class="flow-topics">
        <ul aria-label="Topics of Kafka">
          {topicsOf(status).map((step) => (
            <li key={step.name} class={step.late ? 'flow-step late' : 'flow-step'}>
              {stepText(step, status)}
            </li>
          ))}
        </ul>
      </li>
    </ol>
  );
}

function stepText({ name, figure, words, oldest }: PipelineStep, status: StatusDocument): VNode {
  return (
    <>
      <span class="flow-name">{name}</span> <b>{figure}</b>{' '}
      <span class="soft">
        {words}
        {oldest !== undefined && `, the oldest for ${lengthText(waitedMs(oldest, status))}`}
      </span>
    </>
  );
}
