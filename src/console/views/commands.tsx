import type { VNode } from 'preact';
import { commandFilters } from '../../contract/list-filters.ts';
import { stateWords } from '../parts/command-words.ts';
import { useConsole } from '../parts/console.ts';
import { AddressFilters } from '../parts/filter-fields.tsx';
import { aloneNote, faultNote } from '../parts/notes.tsx';
import { useCommandList } from '../parts/use-command-list.ts';
import { useValue } from '../parts/use-value.ts';
import type { Place } from '../state/address.ts';
import { type CommandRow, isUnresolved } from '../state/commands/command-row.ts';
import { filtersIn } from '../state/filter-address.ts';
import { plural } from '../state/text/word-text.ts';
import { CommandTable } from './command-table.tsx';

/** Commands of every caller: unknown results first, then the newest. */
export function Commands({ query }: Place) {
  const state = useConsole();
  const filters = filtersIn(commandFilters, query);
  const { shown, again, more } = useCommandList(filters);
  // The rows name known orders.
  useValue(state.openOrders);
  const words = { state: stateWords, stream: state.session.streamWords };
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
      <AddressFilters screen="commands" filters={commandFilters} query={query} words={words} />
      {shown.kind === 'loading' && aloneNote('status', 'Reading commands …')}
      {shown.kind === 'failed' && (
        <p class="alone" role="alert">
          {shown.why} <button onClick={again}>Read again</button>
        </p>
      )}
      {shown.kind === 'shown' && (
        <>
          {tableOf(shown.rows, Object.keys(filters).length === 0)}
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

function countText(rows: readonly CommandRow[]): string {
  const unresolved = rows.filter(isUnresolved).length;
  return unresolved === 0 ? 'none unresolved' : `${plural(unresolved, 'command')} unresolved`;
}

function tableOf(rows: readonly CommandRow[], isAll: boolean): VNode {
  if (rows.length === 0)
    return <p class="empty">{isAll ? 'No command has been given yet.' : 'No command matches these filters.'}</p>;
  return (
    <div class="panel">
      <CommandTable rows={rows} />
    </div>
  );
}
