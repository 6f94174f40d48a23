import type { ComponentProps, VNode } from 'preact';

/** A filter by text. `more`: the event by which it changes, and what else is its own. */
export function textFilter(label: string, value: string | undefined, more: ComponentProps<'input'>): VNode {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={value ?? ''}
      maxlength={128}
      spellcheck={false}
      autocomplete="off"
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
