import type { VNode } from 'preact';
import { Link } from '../parts/link.tsx';
import { waitingNote } from '../parts/polled-notes.tsx';
import { timeText } from '../parts/time-text.tsx';
import { addressOf, orderAddress } from '../state/address.ts';
import { mostChosen, type QuarantineEntry, type QuarantineList } from '../state/quarantine-list.ts';

interface TableProps {
  readonly list: QuarantineList;
  readonly shown: QuarantineList['state']['value'];
  readonly chosen: ReadonlySet<string>;
  readonly filtered: boolean;
  readonly mayAct: boolean;
  readonly nowMs: number;
}

/** The rows, oldest first, each with a box to choose it. */
export function QuarantineTable({ list, shown: { items, fault }, chosen, filtered, mayAct, nowMs }: TableProps) {
  if (items === undefined && fault !== undefined)
    return (
      <p class="hint panel-body" role="alert">
        {fault}
      </p>
    );
  if (items === undefined) return waitingNote({ fault }, 'the rows');
  if (items.length === 0)
    return <p class="hint panel-body">{filtered ? 'No row matches these filters.' : 'The quarantine is empty.'}</p>;
  const all = Math.min(items.length, mostChosen);
  return (
    <table class="list" aria-label="Rows in quarantine">
      <thead>
        <tr>
          {mayAct && (
            <th scope="col">
              {box('All rows that are shown', chosen.size === all, (wanted) => list.chooseAll(wanted))}
            </th>
          )}
          <th scope="col">Row</th>
          <th scope="col">Seen</th>
          <th scope="col">Account</th>
          <th scope="col">Stream</th>
          <th scope="col">Order</th>
          <th scope="col">Reason</th>
        </tr>
      </thead>
      <tbody>
        {items.map((entry) =>
          rowOf(
            entry,
            nowMs,
            mayAct && box(`Row ${entry.id}`, chosen.has(entry.id), (wanted) => list.choose(entry.id, wanted)),
          ),
        )}
      </tbody>
    </table>
  );
}

function rowOf(entry: QuarantineEntry, nowMs: number, choice: VNode | false): VNode {
  const { id, stream, accountId, orderId, reason, detail, observedAt } = entry;
  return (
    <tr key={id}>
      {choice !== false && <td>{choice}</td>}
      <td>
        <Link to={addressOf('quarantined', { rowId: id })}>{id}</Link>
      </td>
      <td>{timeText(observedAt, nowMs)}</td>
      <td>{accountId ?? <span class="soft">–</span>}</td>
      <td>{stream}</td>
      <td class="id">{orderId === undefined ? '–' : <Link to={orderAddress({ stream, orderId })}>{orderId}</Link>}</td>
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
      onChange={(event: Event) => change((event.target as HTMLInputElement).checked)}
    />
  );
}
