import { useState } from 'preact/hooks';
import { choiceFilter, textFilter, typedIn } from '../parts/filter-fields.tsx';
import { statusWords } from '../parts/words.ts';
import { type BlotterView, isFiltered, withoutFilters } from '../state/orders/blotter-view.ts';
import { ColumnMenu } from './column-menu.tsx';

interface FilterProps {
  readonly view: BlotterView;
  readonly change: (over: Partial<BlotterView>) => void;
  /** To choose from, beside typing. */
  readonly accounts: () => readonly string[];
}

/** The blotter's filters. Each change is a new address. */
export function BlotterFilters({ view, change, accounts }: FilterProps) {
  const [known, setKnown] = useState<readonly string[]>([]);
  const text = (name: 'text' | 'account' | 'symbol', label: string, id: string) =>
    textFilter(label, view[name], {
      id,
      list: name === 'account' ? 'accounts' : undefined,
      onFocus: name === 'account' ? () => setKnown(accounts()) : undefined,
      onInput: (event: InputEvent) => change({ [name]: typedIn(event) || undefined }),
      onKeyDown: (event: KeyboardEvent) => event.key === 'Escape' && (event.target as HTMLInputElement).blur(),
    });
  const pick = (
    name: 'stream' | 'side' | 'status' | 'origin',
    label: string,
    choices: readonly (readonly [string, string])[],
  ) => choiceFilter(label, view[name], choices, (value) => change({ [name]: value || undefined }));
  return (
    <search class="filters">
      {text('text', 'Filter', 'search')} {text('account', 'Account', 'account')} {text('symbol', 'Symbol', 'symbol')}
      <datalist id="accounts">
        {known.map((account) => (
          <option value={account} />
        ))}
      </datalist>
      {pick('stream', 'Stream', [
        ['account', 'account'],
        ['prediction', 'prediction'],
      ])}
      {pick('side', 'Side', [
        ['buy', 'buy'],
        ['sell', 'sell'],
      ])}
      {pick('status', 'Status', statusWords)}
      {pick('origin', 'Origin', [
        ['tidemark', 'Tidemark'],
        ['external', 'elsewhere'],
      ])}
      <label class="check">
        <input type="checkbox" checked={view.openOnly} onChange={() => change({ openOnly: !view.openOnly })} /> Open
        only
      </label>
      <ColumnMenu view={view} change={change} />
      {isFiltered(view) && (
        <button class="quiet" onClick={() => change(withoutFilters())}>
          Clear filters
        </button>
      )}
    </search>
  );
}
