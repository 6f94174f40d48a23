import type { VNode } from 'preact';
import { Age } from '../parts/age.ts';
import { commandStateText, commandTone, termsText } from '../parts/command-words.ts';
import { html } from '../parts/html.ts';
import { Link } from '../parts/link.ts';
import { timeText } from '../parts/time-text.ts';
import { addressOf, orderAddress } from '../state/address.ts';
import { type CommandRow, isUnresolved } from '../state/commands/command-row.ts';
import type { ConsoleState } from '../state/console-state.ts';

interface TableOptions {
  /** All are about the order that the page shows: its account and its id are left out. */
  readonly ofOneOrder?: boolean;
}

export function commandTable(
  rows: readonly CommandRow[],
  state: ConsoleState,
  { ofOneOrder = false }: TableOptions = {},
): VNode {
  const nowMs = state.ports.nowMs();
  return html`<table class="list" aria-label="Commands">
    <thead><tr><th>Outcome</th><th>Age or time</th><th>What</th>${!ofOneOrder && html`<th>Account</th>`}<th>Caller’s reference</th>${!ofOneOrder && html`<th>Order</th>`}</tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.commandId} class=${isUnresolved(row) ? 'unresolved' : ''}>${cellsOf(row, { state, nowMs, ofOneOrder })}</tr>`)}</tbody>
  </table>`;
}

interface CellDeps extends Required<TableOptions> {
  readonly state: ConsoleState;
  readonly nowMs: number;
}

function cellsOf(row: CommandRow, { state, nowMs, ofOneOrder }: CellDeps): VNode {
  const { commandId, kind, stream, accountId, orderId, callerRef, createdAt, terms, presumedAbsent } = row;
  return html`<td data-label="Outcome">
      <span>
        <${Link} to=${addressOf('command', { commandId })} class=${`status ${commandTone(row.state)}`}>${commandStateText(row.state)}<//>
        ${presumedAbsent && html`<span class="soft">, presumed absent</span>`}
      </span>
    </td>
    <td data-label="Age or time">${isUnresolved(row) ? html`<${Age} state=${state} since=${createdAt} />` : timeText(createdAt, nowMs)}</td>
    <td data-label="What"><span><span class="kind">${kind}</span> ${kind === 'cancel' ? '' : termsText(kind, terms)}</span></td>
    ${!ofOneOrder && html`<td data-label="Account">${accountId}</td>`}
    <td data-label="Caller’s reference">${callerRef ?? html`<span class="soft">–</span>`}</td>
    ${!ofOneOrder && html`<td data-label="Order">${orderId === undefined ? html`<span class="soft">none seen</span>` : html`<${Link} class="id" to=${orderAddress({ stream, orderId })}>${orderId}<//>`}</td>`}`;
}
