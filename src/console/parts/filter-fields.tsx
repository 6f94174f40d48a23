import type { InputHTMLAttributes, VNode } from 'preact';

/** The events by which a filter changes, and what else is its own. */
interface FilterMore
  extends Pick<InputHTMLAttributes<HTMLInputElement>, 'onChange' | 'onFocus' | 'onInput' | 'onKeyDown'> {
  readonly id?: string;
  readonly class?: string;
  readonly maxlength?: number;
  readonly list?: string | undefined;
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
export function choiceFilter(
  label: string,
  value: string | undefined,
  choices: readonly (readonly [value: string, words: string])[],
  change: (value: string) => void,
): VNode {
  return (
    <select
      aria-label={label}
      class={value === undefined ? 'unset' : ''}
      value={value ?? ''}
      onChange={(event: Event) => change(typedIn(event))}
    >
      <option value="">{label}</option>
      {choices.map(([each, words]) => (
        <option value={each}>{words}</option>
      ))}
    </select>
  );
}

/** The value of the field of an event. */
export function typedIn(event: Event): string {
  return (event.target as HTMLInputElement | HTMLSelectElement).value;
}
