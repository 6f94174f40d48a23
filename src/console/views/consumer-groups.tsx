import { useMemo } from 'preact/hooks';
import type { ConsumersDocument } from '../../contract/pipeline-answers.ts';
import { useConsole } from '../parts/console.ts';
import { panelNote, polledPanel } from '../parts/notes.tsx';
import { number, Table } from '../parts/table.tsx';
import { usePolled } from '../parts/use-while-shown.ts';
import { polledAt } from '../state/polled.ts';
import { plural } from '../state/text/word-text.ts';

/** The readers of the topics, and how far each is behind. */
export function ConsumerGroups() {
  const state = useConsole();
  const consumers = useMemo(() => polledAt<ConsumersDocument>(state, '/v1/consumers', () => 6_000), []);
  const shown = usePolled(consumers);
  return (
    <section>
      <h2>Consumer groups</h2>
      {polledPanel(shown, 'the groups', tableOf)}
      {shown.value !== undefined && notesOf(shown.value)}
    </section>
  );
}

function tableOf({ items }: ConsumersDocument) {
  if (items.length === 0) return panelNote('No group has committed a place in our topics yet.');
  return (
    <Table
      class="roomy"
      label="Consumer groups"
      head={[
        'Group',
        'Topic',
        number('Behind by', 'Records up to the end of the topic that the group has not committed'),
        number('Partitions'),
        number('Without a place', 'They are not counted in “behind by”'),
      ]}
    >
      {items.flatMap(({ groupId, topics }) =>
        topics.map(({ topic, lag, partitions, uncommitted }) => (
          <tr key={`${groupId} ${topic}`}>
            <td class="outside">{groupId}</td>
            <td>{topic}</td>
            <td class="number">{lag}</td>
            <td class="number">{partitions}</td>
            <td class="number">{uncommitted}</td>
          </tr>
        )),
      )}
    </Table>
  );
}

function notesOf({ unread, notAsked }: ConsumersDocument) {
  return (
    <>
      {unread.length > 0 && (
        <p class="hint">
          Kafka did not show the places of: <span class="outside">{unread.join(', ')}</span>
        </p>
      )}
      {notAsked > 0 && (
        <p class="hint">
          {plural(notAsked, 'more group')} {notAsked === 1 ? 'was' : 'were'} not asked for.
        </p>
      )}
    </>
  );
}
