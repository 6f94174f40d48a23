import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { StatusDocument } from '../../contract/status-answer.ts';
import { useConsole } from '../parts/console.ts';
import { DoubtNotes } from '../parts/doubt-notes.tsx';
import { type Fact, Facts } from '../parts/facts.tsx';
import { staleNote, waitingNote } from '../parts/notes.tsx';
import { number, Table } from '../parts/table.tsx';
import { lengthText, Time } from '../parts/time-text.tsx';
import { useValue } from '../parts/use-value.ts';
import { usePolled } from '../parts/use-while-shown.ts';
import { pipelineHistory } from '../state/pipeline-history.ts';
import { type PipelineStep, stepsOf, topicsOf, waitedMs } from '../state/pipeline-steps.ts';
import { ConsumerGroups } from './consumer-groups.tsx';
import { PipelineLines } from './pipeline-lines.tsx';

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
export function PipelinePage() {
  const state = useConsole();
  const { status, doubts: all } = useValue(state.status.state);
  const history = useMemo(() => pipelineHistory(state), []);
  const shown = usePolled(history);
  const fault = all?.find(({ name }) => name === 'service_silent')?.detail;
  return (
    <div class="screen">
      <header class="screen-head">
        <h1>Pipeline</h1>
      </header>
      <DoubtNotes names={doubts} />
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
        <PipelineLines history={shown.value} />
      )}
      {status !== undefined && instancesTable(status)}
      {status !== undefined && laneFacts(status)}
      <ConsumerGroups />
    </div>
  );
}

function pictureOf(status: StatusDocument): VNode {
  return (
    <ol class="flow" aria-label="The way of the data">
      {stepsOf(status).map((step) => stepView(step, status))}
      <li key="topics" class="flow-topics">
        <ul aria-label="Topics of Kafka">{topicsOf(status).map((step) => stepView(step, status))}</ul>
      </li>
    </ol>
  );
}

function stepView({ name, figure, words, oldest, late }: PipelineStep, status: StatusDocument): VNode {
  return (
    <li key={name} class={late ? 'flow-step late' : 'flow-step'}>
      <span class="flow-name">{name}</span> <b>{figure}</b>{' '}
      <span class="soft">
        {words}
        {oldest !== undefined && `, the oldest for ${lengthText(waitedMs(oldest, status))}`}
      </span>
    </li>
  );
}

/** The process in charge, and the one that answers. */
function laneFacts({ lane, relay, version }: StatusDocument): VNode {
  const { holder, instance, role, mayAct, since, epoch, takeovers, takeover, fenced } = lane;
  const charge =
    holder === null ? (
      'no process that is known'
    ) : holder === instance ? (
      <>
        {holder} <span class="soft">(this instance)</span>
      </>
    ) : (
      holder
    );
  const last =
    takeover === null ? (
      'none by this instance'
    ) : (
      <>
        <Time at={takeover.at} />{' '}
        <span class="soft">
          {takeover.cause}
          {takeover.from === null ? '' : `, from ${takeover.from}`}, {lengthText(takeover.idleMs)} without a holder
        </span>
      </>
    );
  const facts: readonly Fact[] = [
    ['Lane', String(lane.lane)],
    ['In charge', charge],
    ['In charge since', <Time at={since} />],
    [
      'This instance',
      <>
        {instance}{' '}
        <span class="soft">
          {role === 'holder' ? (mayAct ? 'in charge' : 'in charge, but may not act now') : 'stands by'}
        </span>
      </>,
    ],
    ['Term', epoch],
    ['Takeovers by this instance', String(takeovers)],
    ['Last takeover', last],
    ['Writes of an old holder refused', `Postgres ${fenced.postgres}, Kafka ${fenced.kafka}`],
    ['On Kafka up to row', relay?.acknowledgedSeq ?? '–'],
    ['Version', version],
  ];
  return (
    <>
      <h2>Lane</h2>
      <Facts facts={facts} />
    </>
  );
}

/** The processes of the fleet, each with its part in the picture. Nothing if there is one alone. */
function instancesTable({ instances, unanswered = [] }: StatusDocument): VNode | null {
  if (instances === undefined) return null;
  const rows = [
    ...instances.map(({ instance, trusted, updatesPerSecond, ingestQueued, relayRows, unresolved }) => [
      instance,
      trusted ? 'trusted' : 'in doubt',
      ...[updatesPerSecond, ingestQueued, relayRows, unresolved ?? '–'].map(String),
    ]),
    ...unanswered.map(({ instance, code }) => [instance, `no answer: ${code}`, '–', '–', '–', '–']),
  ];
  return (
    <>
      <h2>Instances</h2>
      <div class="panel">
        <Table class="roomy" label="Instances" head={headings}>
          {rows.map((row) => (
            <tr key={row[0]}>
              {row.map((text, at) => (
                <td key={at} class={at === 0 ? 'outside' : at === 1 ? undefined : 'number'}>
                  {text}
                </td>
              ))}
            </tr>
          ))}
        </Table>
      </div>
    </>
  );
}

const figures = ['Changes a second', 'Not stored yet', 'Not on Kafka yet', 'Unknown results'];
const headings = ['Instance', 'State', ...figures.map((text) => number(text))];
