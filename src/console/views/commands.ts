import type { VNode } from 'preact';
import { useContext, useEffect, useMemo, useRef } from 'preact/hooks';
import { Age } from '../parts/age.ts';
import { commandStateText, commandTone, stateWords, termsText } from '../parts/command-words.ts';
import { html } from '../parts/html.ts';
import { Go, Link } from '../parts/link.ts';
import { plural } from '../parts/plural.ts';
import { timeText } from '../parts/time-text.ts';
import { useValue } from '../parts/use-value.ts';
import { addressOf, orderAddress } from '../state/address.ts';
import { CommandList } from '../state/command-list.ts';
import { type CommandFilters, type CommandRow, filtersOf, isUnresolved } from '../state/command-row.ts';
import type { ConsoleState } from '../state/console-state.ts';
import type { ScreenProps } from './screen-props.ts';

/** Commands of every caller: those whose outcome is not known first, then the newest. */
export function Commands({ state, query }: ScreenProps) {
  const go = useContext(Go) as (address: string, options?: { readonly replace?: boolean }) => void;
  const filters = filtersOf(query);
  const wanted = JSON.stringify(filters);
  const list = useMemo(() => new CommandList(state, filters), [state, wanted]);
  const shown = useValue(list.state);
  const beginning = useValue(state.beginnings);
  const leave = useRef(new AbortController());
  useEffect(() => {
    const abort = new AbortController();
    leave.current = abort;
    const end = state.outcomes.add((outcome) => list.takeOutcome(outcome));
    void list.load(abort.signal);
    return () => {
      abort.abort();
      end();
    };
  }, [list, beginning]);
  const change = (over: Readonly<Partial<Record<keyof CommandFilters, string>>>) =>
    go(addressOf('commands', {}, { ...filters, ...over }), { replace: true });
  return html`<section class="screen commands">
    <div class="screen-head">
      <h1>Commands</h1>
      ${shown.kind === 'shown' && html`<span class="count" role="status">${countText(shown.rows)}</span>`}
    </div>
    ${filterBar(filters, change)}
    ${shown.kind === 'loading' && html`<p class="alone" role="status">Reading commands …</p>`}
    ${
      shown.kind === 'failed' &&
      html`<p class="alone" role="alert">${shown.why} <button onClick=${() => list.load(leave.current.signal)}>Read again</button></p>`
    }
    ${
      shown.kind === 'shown' &&
      html`${tableOf(shown.rows, state, wanted === '{}')}
      <div class="more">
        ${shown.fault !== undefined && html`<p class="fault" role="alert">${shown.fault}</p>`}
        ${shown.next !== undefined && html`<button onClick=${() => list.more(leave.current.signal)}>Show older commands</button>`}
        ${shown.isCut && html`<p class="hint">Older commands were left out. Narrow the filters to find them.</p>`}
      </div>`
    }
  </section>`;
}

function filterBar(
  filters: CommandFilters,
  change: (over: Readonly<Partial<Record<keyof CommandFilters, string>>>) => void,
): VNode {
  const text = (name: 'account' | 'key' | 'reference', label: string) => html`<input
    type="search"
    aria-label=${label}
    placeholder=${label}
    value=${filters[name] ?? ''}
    maxlength="128"
    spellcheck=${false}
    autocomplete="off"
    onChange=${(event: Event) => change({ [name]: (event.target as HTMLInputElement).value.trim() })}
  />`;
  const pick = (name: 'kind' | 'state', label: string, choices: readonly (readonly [string, string])[]) => html`<select
    aria-label=${label}
    class=${filters[name] === undefined ? 'unset' : ''}
    value=${filters[name] ?? ''}
    onChange=${(event: Event) => change({ [name]: (event.target as HTMLSelectElement).value })}
  >
    <option value="">${label}</option>
    ${choices.map(([value, words]) => html`<option value=${value}>${words}</option>`)}
  </select>`;
  return html`<search class="filters">
    ${pick('state', 'Any outcome', [['unresolved', 'unresolved'], ...stateWords])}
    ${pick('kind', 'Any kind', [
      ['place', 'place'],
      ['replace', 'replace'],
      ['cancel', 'cancel'],
    ])}
    ${text('account', 'Account')} ${text('reference', 'Caller’s reference')} ${text('key', 'Idempotency key')}
  </search>`;
}

function countText(rows: readonly CommandRow[]): string {
  const unresolved = rows.filter(isUnresolved).length;
  return unresolved === 0 ? 'none unresolved' : `${plural(unresolved, 'command')} unresolved`;
}

function tableOf(rows: readonly CommandRow[], state: ConsoleState, isAll: boolean): VNode {
  if (rows.length === 0)
    return html`<p class="empty">${isAll ? 'No command has been given yet.' : 'No command matches these filters.'}</p>`;
  const nowMs = state.ports.nowMs();
  return html`<div class="panel"><table class="list">
    <thead><tr><th>Outcome</th><th>Age or time</th><th>What</th><th>Account</th><th>Caller’s reference</th><th>Order</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.commandId} class=${isUnresolved(row) ? 'unresolved' : ''}>${cellsOf(row, state, nowMs)}</tr>`)}</tbody>
  </table></div>`;
}

function cellsOf(row: CommandRow, state: ConsoleState, nowMs: number): VNode {
  const { commandId, kind, stream, accountId, orderId, callerRef, createdAt, terms, presumedAbsent } = row;
  return html`<td data-label="Outcome">
      <span>
        <${Link} to=${addressOf('command', { commandId })} class=${`status ${commandTone(row.state)}`}>${commandStateText(row.state)}<//>
        ${presumedAbsent && html`<span class="soft">, presumed absent</span>`}
      </span>
    </td>
    <td data-label="Age or time">${isUnresolved(row) ? html`<${Age} state=${state} since=${createdAt} />` : timeText(createdAt, nowMs)}</td>
    <td data-label="What"><span><span class="kind">${kind}</span> ${kind === 'cancel' ? '' : termsText(kind, terms)}</span></td>
    <td data-label="Account">${accountId}</td>
    <td data-label="Caller’s reference">${callerRef ?? html`<span class="soft">–</span>`}</td>
    <td data-label="Order">${orderId === undefined ? html`<span class="soft">none seen</span>` : html`<${Link} class="id" to=${orderAddress({ stream, orderId })}>${orderId}<//>`}</td>`;
}
