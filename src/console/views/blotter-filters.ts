import { html } from '../parts/html.ts';
import { statusWords } from '../parts/words.ts';
import { type BlotterView, type ColumnName, columnNames, defaultView, withColumn } from '../state/blotter-view.ts';
import { columnsByName } from './blotter-columns.ts';

interface FilterProps {
  readonly view: BlotterView;
  readonly change: (over: Partial<BlotterView>) => void;
}

/** The filters of the blotter. Each change is a new address. */
export function BlotterFilters({ view, change }: FilterProps) {
  const text = (name: 'text' | 'account' | 'symbol', label: string, id: string) => html`<input
    id=${id}
    type="search"
    aria-label=${label}
    placeholder=${label}
    value=${view[name] ?? ''}
    maxlength="128"
    spellcheck=${false}
    autocomplete="off"
    onInput=${(event: InputEvent) => change({ [name]: (event.target as HTMLInputElement).value || undefined })}
    onKeyDown=${(event: KeyboardEvent) => event.key === 'Escape' && (event.target as HTMLInputElement).blur()}
  />`;
  const pick = (name: 'stream' | 'side' | 'status' | 'origin', label: string, choices: readonly (readonly [string, string])[]) =>
    html`<select
      aria-label=${label}
      class=${view[name] === undefined ? 'unset' : ''}
      value=${view[name] ?? ''}
      onChange=${(event: Event) => change({ [name]: (event.target as HTMLSelectElement).value || undefined })}
    >
      <option value="">${label}</option>
      ${choices.map(([value, words]) => html`<option value=${value}>${words}</option>`)}
    </select>`;
  return html`<search class="filters">
    ${text('text', 'Search', 'search')} ${text('account', 'Account', 'account')} ${text('symbol', 'Symbol', 'symbol')}
    ${pick('stream', 'Stream', [
      ['account', 'account'],
      ['prediction', 'prediction'],
    ])}
    ${pick('side', 'Side', [
      ['buy', 'buy'],
      ['sell', 'sell'],
    ])}
    ${pick('status', 'Status', statusWords)}
    ${pick('origin', 'Origin', [
      ['tidemark', 'Tidemark'],
      ['external', 'elsewhere'],
    ])}
    <label class="check"><input type="checkbox" checked=${view.openOnly} onChange=${() => change({ openOnly: !view.openOnly })} /> Open only</label>
    <details class="columns">
      <summary>Columns</summary>
      <div>
        ${columnNames.map((name) => columnChoice(name, view, change))}
        <button
          class="quiet"
          disabled=${view.columns === defaultView.columns && Object.keys(view.widths).length === 0}
          onClick=${() => change({ columns: defaultView.columns, widths: {} })}
        >Usual columns</button>
      </div>
    </details>
  </search>`;
}

function columnChoice(name: ColumnName, { columns }: BlotterView, change: FilterProps['change']) {
  const shown = columns.includes(name);
  const toggle = () => {
    const wanted = shown ? columns.filter((other) => other !== name) : withColumn(columns, name);
    if (wanted.length > 0) change({ columns: wanted });
  };
  return html`<label class="check"><input type="checkbox" checked=${shown} onChange=${toggle} /> ${columnsByName[name].label}</label>`;
}
