import type { VNode } from 'preact';
import { Link, orderLink } from '../parts/link.tsx';
import { panelNote, waitingNote } from '../parts/notes.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time-text.tsx';
import { addressOf } from '../state/address.ts';
import { type DeadLetterEntry, type DeadLetterList, mostChosen } from '../state/dead-letter-list.ts';

interface TableProps {
  readonly list: DeadLetterList;
  readonly shown: DeadLetterList['state']['value'];
  readonly chosen: ReadonlySet<string>;
  readonly filtered: boolean;
  readonly mayAct: boolean;
}

/** The rows, oldest first, each with a box to choose it. */
export function DeadLetterTable({ list, shown: { items, fault }, chosen, filtered, mayAct }: TableProps) {
  if (items === undefined) return fault === undefined ? waitingNote({ fault }, 'the rows') : panelNote(fault, 'alert');
  if (items.length === 0) return panelNote(filtered ? 'No row matches these filters.' : 'There are no dead letters.');
  const all = Math.min(items.length, mostChosen);
  return (
    <Table
      label="Dead letters"
      head={[
        mayAct && { text: box('All rows that are shown', chosen.size === all, (wanted) => list.chooseAll(wanted)) },
        'Row',
        'Seen',
        'Account',
        'Stream',
        'Order',
        'Reason',
      ]}
    >
      {items.map((entry) =>
        rowOf(entry, mayAct && box(`Row ${entry.id}`, chosen.has(entry.id), (wanted) => list.choose(entry.id, wanted))),
      )}
    </Table>
  );
}

function rowOf(entry: DeadLetterEntry, choice: VNode | false): VNode {
  const { id, stream, accountId, orderId, reason, detail, observedAt } = entry;
  return (
    <tr key={id}>
      {choice !== false && <td>{choice}</td>}
      <td>
        <Link to={addressOf('deadLetter', { rowId: id })}>{id}</Link>
      </td>
      <td>
        <Time at={observedAt} />
      </td>
      <td class="account">{accountId ?? <span class="soft">–</span>}</td>
      <td class="stream">{stream}</td>
      <td>{orderId === undefined ? '–' : orderLink({ stream, orderId })}</td>
      <td>
        <b>{reason}</b> <span class="soft outside">{detail}</span>
      </td>
    </tr>
  );
}

function box(label: string, checked: boolean, change: (wanted: boolean) => void): VNode {
  return (
    <input
      type="checkbox"
      class="choice"
      aria-label={label}
      checked={checked}
      onChange={(event) => change(event.currentTarget.checked)}
    />
  );
}
