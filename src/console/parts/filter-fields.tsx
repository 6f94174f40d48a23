import { Fragment, type InputHTMLAttributes, type VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Filter, Filters } from '../../contract/list-filters.ts';
import { addressOf, type ListScreen } from '../state/address.ts';
import { filtersIn, filterWords } from '../state/filter-address.ts';
import type { Choices } from '../state/text/word-text.ts';
import { useGo } from './link.tsx';
import { Menu } from './menu.tsx';

/** The events by which a filter changes, and what else is its own. */
interface FilterMore
  extends Pick<
    InputHTMLAttributes<HTMLInputElement>,
    'id' | 'class' | 'onChange' | 'onFocus' | 'onInput' | 'onKeyDown'
  > {
  readonly list?: string;
}

/** A filter by text. */
export function textFilter(label: string, value: string | undefined, { list, ...more }: FilterMore): VNode {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={value ?? ''}
      maxlength={128}
      spellcheck={false}
      autocomplete="off"
      {...(list !== undefined && { list })}
      {...more}
    />
  );
}

/** A filter by choice. An empty text is the choice of any. */
function choiceFilter(
  label: string,
  value: string | undefined,
  choices: Choices,
  change: (value: string) => void,
): VNode {
  return (
    <select
      aria-label={label}
      class={value === undefined ? 'unset' : ''}
      value={value ?? ''}
      onChange={(event) => change(event.currentTarget.value)}
    >
      <option value="">{label}</option>
      {choices.map(([each, words]) => (
        <option value={each}>{words}</option>
      ))}
    </select>
  );
}

interface FieldsProps {
  readonly filters: Filters;
  /** The texts of the filters, by name. */
  readonly values: object;
  readonly change: (over: Readonly<Record<string, string | undefined>>) => void;
  /** Words for people, where a filter has other words. */
  readonly words: Readonly<Record<string, Choices>>;
  /** At each letter; else once the field is left. */
  readonly live?: boolean;
  /** To choose from, beside typing. */
  readonly accounts?: () => readonly string[];
}

/** Texts first, the one that looks for everything before the others; then words, then the rest. */
function rankOf({ takes }: Filter): number {
  if (typeof takes !== 'string') return 2;
  return { search: 0, account: 1, symbol: 1, key: 1, reference: 1, flag: 3, time: 3 }[takes];
}

interface AddressProps extends Pick<FieldsProps, 'filters' | 'words' | 'live'> {
  readonly screen: ListScreen;
  readonly query: URLSearchParams;
}

/** The filters of a screen with one list, whose address has their texts. */
export function AddressFilters({ screen, query, ...props }: AddressProps) {
  const go = useGo();
  const { filters } = props;
  const values = filtersIn(filters, query);
  const change: FieldsProps['change'] = (over) =>
    go(addressOf(screen, filterWords(filters, { ...values, ...over } as typeof values)), { replace: true });
  return (
    <search class="filters">
      <FilterFields {...props} values={values} change={change} />
    </search>
  );
}

/** A field for each filter of a list. */
export function FilterFields({ filters, values, change, words, live = false, accounts }: FieldsProps) {
  const [known, setKnown] = useState<readonly string[]>([]);
  const fieldOf = (name: string, { takes, label }: Filter) => {
    const value = Reflect.get(values, name) as string | undefined;
    const set = (text: string) => change({ [name]: text || undefined });
    const choices = words[name] ?? (typeof takes === 'string' ? undefined : takes.map((word) => [word, word] as const));
    if (choices !== undefined) return choiceFilter(label, value, choices, set);
    if (takes === 'flag') return flagFilter(label, value !== undefined, () => set(value === undefined ? 'true' : ''));
    if (takes === 'time') return timeFilter(label, value, set);
    const list = takes === 'account' && accounts !== undefined;
    return textFilter(label, value, {
      ...(takes === 'search' && { id: 'search' }),
      ...(list && { list: 'accounts', onFocus: () => setKnown(accounts()) }),
      [live ? 'onInput' : 'onChange']: (event: Event) => set(live ? typedIn(event) : typedIn(event).trim()),
      onKeyDown: (event) => event.key === 'Escape' && event.currentTarget.blur(),
    });
  };
  const fields = Object.entries(filters)
    .filter(([, { off }]) => off === undefined)
    .sort(([, a], [, b]) => rankOf(a) - rankOf(b));
  const some = (of: typeof fields) =>
    of.map(([name, filter]) => <Fragment key={name}>{fieldOf(name, filter)}</Fragment>);
  const times = fields.filter(([, { takes }]) => takes === 'time');
  const given = times.filter(([name]) => Reflect.get(values, name) !== undefined);
  return (
    <>
      {some(fields.filter((field) => !times.includes(field)))}
      {times.length > 0 && <Menu label={given.length > 0 ? `Times (${given.length})` : 'Times'}>{some(times)}</Menu>}
      {accounts !== undefined && (
        <datalist id="accounts">
          {known.map((account) => (
            <option value={account} />
          ))}
        </datalist>
      )}
    </>
  );
}

/** A filter, on or off. */
export function flagFilter(label: string, on: boolean, turn: () => void, disabled = false): VNode {
  return (
    <label class="check">
      <input type="checkbox" checked={on} disabled={disabled} onChange={turn} /> {label}
    </label>
  );
}

/** A time, typed in the reader's zone. `change` gets it in UTC. */
function timeFilter(label: string, value: string | undefined, change: (value: string) => void): VNode {
  const here = (at: Date) => new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  return (
    <label class="when">
      {label}{' '}
      <input
        type="datetime-local"
        step={1}
        value={value === undefined ? '' : here(new Date(value))}
        onChange={(event) => {
          const typed = event.currentTarget.value;
          change(typed === '' ? '' : new Date(typed).toISOString());
        }}
      />
    </label>
  );
}

/** The value of the field of an event. */
export function typedIn(event: Event): string {
  return (event.target as HTMLInputElement | HTMLSelectElement).value;
}
