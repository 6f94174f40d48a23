import type { VNode } from 'preact';
import { accountText } from '../../domain/streams.ts';
import { termsText } from '../../domain/terms-text.ts';
import { commandStateText, commandTone } from '../parts/command-words.ts';
import { useConsole } from '../parts/console.ts';
import { Link, orderLink } from '../parts/link.tsx';
import { instrumentText } from '../parts/order-text.tsx';
import { Table } from '../parts/table.tsx';
import { Age, Time } from '../parts/time-text.tsx';
import { sideText } from '../parts/words.ts';
import { commandAddress } from '../state/address.ts';
import { type CommandRow, isUnresolved } from '../state/commands/command-row.ts';
import { keyOf } from '../state/orders/order-row.ts';
import type { OrderStore } from '../state/orders/order-store.ts';

interface TableProps {
  readonly rows: readonly CommandRow[];
  /** All are about the order on this page: its account and its id are left out. */
  readonly ofOneOrder?: boolean;
}

export function CommandTable({ rows, ofOneOrder = false }: TableProps) {
  const { orders } = useConsole();
  return (
    <Table
      label="Commands"
      head={['Result', 'Age or time', 'What', !ofOneOrder && 'Account', 'Caller’s reference', !ofOneOrder && 'Order']}
    >
      {rows.map((row) => (
        <tr key={row.commandId} class={isUnresolved(row) ? 'unresolved' : ''}>
          {cellsOf(row, ofOneOrder, orders)}
        </tr>
      ))}
    </Table>
  );
}

function cellsOf(row: CommandRow, ofOneOrder: boolean, { rows }: OrderStore): VNode {
  const { commandId, kind, stream, accountId, orderId, callerRef, createdAt, terms, presumedAbsent } = row;
  // A place says it by itself, and the page of one order once for all.
  const isNamed = ofOneOrder || kind === 'place' || orderId === undefined;
  const known = isNamed ? undefined : rows.get(keyOf({ stream, orderId }))?.order;
  return (
    <>
      <td data-label="Result">
        <span>
          <Link to={commandAddress(commandId)} class={`status ${commandTone(row.state)}`}>
            {commandStateText(row.state)}
          </Link>
          {presumedAbsent && <span class="soft">, presumed absent</span>}
        </span>
      </td>
      <td data-label="Age or time">{isUnresolved(row) ? <Age since={createdAt} /> : <Time at={createdAt} />}</td>
      <td data-label="What">
        <span>
          <span class="kind">{kind}</span> {known && `${sideText(known.side)} ${instrumentText(known.instrument)} `}
          {kind === 'cancel' ? '' : termsText(kind, terms)}
        </span>
      </td>
      {!ofOneOrder && (
        <td class="account" data-label="Account">
          {accountText({ accountId, stream })}
        </td>
      )}
      <td data-label="Caller’s reference">{callerRef ?? <span class="soft">–</span>}</td>
      {!ofOneOrder && (
        <td data-label="Order">
          {orderId === undefined ? <span class="soft">none seen</span> : orderLink({ stream, orderId })}
        </td>
      )}
    </>
  );
}
