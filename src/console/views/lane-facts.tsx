import type { VNode } from 'preact';
import type { StatusDocument } from '../../contract/status-answer.ts';
import { type Fact, Facts } from '../parts/facts.tsx';
import { number, Table } from '../parts/table.tsx';
import { lengthText, timeText } from '../parts/time-text.tsx';

/** The process in charge, and the one that answers. */
export function laneFacts({ lane, relay, version }: StatusDocument, nowMs: number): VNode {
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
        {timeText(takeover.at, nowMs)}{' '}
        <span class="soft">
          {takeover.cause}
          {takeover.from === null ? '' : `, from ${takeover.from}`}, {lengthText(takeover.idleMs)} without a holder
        </span>
      </>
    );
  const facts: readonly Fact[] = [
    ['Lane', String(lane.lane)],
    ['In charge', charge],
    ['In charge since', timeText(since ?? undefined, nowMs)],
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
      <Facts class="terms lane" facts={facts} />
    </>
  );
}

/** The processes of the fleet, each with its part in the picture. Nothing if there is one alone. */
export function instancesTable({ instances, unanswered = [] }: StatusDocument): VNode | null {
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
