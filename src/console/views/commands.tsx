import type { VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { stateWords } from '../parts/command-words.ts';
import { choiceFilter, textFilter, typedIn } from '../parts/filter-fields.tsx';
import { Go } from '../parts/link.tsx';
import { aloneNote, faultNote } from '../parts/notes.tsx';
import { plural } from '../parts/plural.ts';
import { useCommandList } from '../parts/use-command-list.ts';
import { addressOf } from '../state/address.ts';
import { type CommandFilters, type CommandRow, filtersOf, isUnresolved } from '../state/commands/command-row.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { commandTable } from './command-table.tsx';
import type { ScreenProps } from './screen-props.ts';

/** Commands of every caller: unknown outcomes first, then the newest. */
export function Commands({ state, query }: ScreenProps) {
  const go = useContext(Go) as (address: string, options?: { readonly replace?: boolean }) => void;
  const filters = filtersOf(query);
  const { shown, again, more } = useCommandList(state, filters);
  const change = (over: Readonly<Partial<Record<keyof CommandFilters, string>>>) =>
    go(addressOf('commands', {}, { ...filters, ...over }), { replace: true });
  return (
    <section class="screen commands">
      <div class="screen-head">
        <h1>Commands</h1>
        {shown.kind === 'shown' && (
          <span class="count" role="status">
            {countText(shown.rows)}
          </span>
        )}
      </div>
      {filterBar(filters, change)}
      {shown.kind === 'loading' && aloneNote('status', 'Reading commands …')}
      {shown.kind === 'failed' && (
        <p class="alone" role="alert">
          {shown.why} <button onClick={again}>Read again</button>
        </p>
      )}
      {shown.kind === 'shown' && (
        <>
          {tableOf(shown.rows, state, Object.keys(filters).length === 0)}
          <div class="more">
            {shown.fault !== undefined && faultNote(shown.fault)}
            {shown.next !== undefined && <button onClick={more}>Show older commands</button>}
            {shown.isCut && <p class="hint">Older commands were left out. Narrow the filters to find them.</p>}
          </div>
        </>
      )}
    </section>
  );
}

function filterBar(
  filters: CommandFilters,
  change: (over: Readonly<Partial<Record<keyof CommandFilters, string>>>) => void,
): VNode {
  const text = (name: 'account' | 'key' | 'reference', label: string) =>
    textFilter(label, filters[name], { onChange: (event: Event) => change({ [name]: typedIn(event).trim() }) });
  const pick = (name: 'kind' | 'state', label: string, choices: readonly (readonly [string, string])[]) =>
    choiceFilter(label, filters[name], choices, (value) => change({ [name]: value }));
  return (
    <search class="filters">
      {pick('state', 'Any outcome', [['unresolved', 'unresolved'], ...stateWords])}
      {pick('kind', 'Any kind', [
        ['place', 'place'],
        ['replace', 'replace'],
        ['cancel', 'cancel'],
      ])}
      {text('account', 'Account')} {text('reference', 'Caller’s reference')} {text('key', 'Idempotency key')}
    </search>
  );
}

function countText(rows: readonly CommandRow[]): string {
  const unresolved = rows.filter(isUnresolved).length;
  return unresolved === 0 ? 'none unresolved' : `${plural(unresolved, 'command')} unresolved`;
}

function tableOf(rows: readonly CommandRow[], state: ConsoleState, isAll: boolean): VNode {
  if (rows.length === 0)
    return <p class="empty">{isAll ? 'No command has been given yet.' : 'No command matches these filters.'}</p>;
  return <div class="panel">{commandTable(rows, state)}</div>;
}
