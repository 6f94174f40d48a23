import type { ComponentChildren } from 'preact';

interface Heading {
  readonly text: ComponentChildren;
  readonly class?: 'number';
  readonly title?: string;
}

/** The heading of a column of figures. */
export function number(text: string, title?: string): Heading {
  return { text, class: 'number', ...(title !== undefined && { title }) };
}

/** A heading for screen readers alone: the column shows what it is. */
export function unseen(text: string): Heading {
  return { text: <span class="unseen">{text}</span> };
}

interface TableProps {
  /** False: no column. */
  readonly head: readonly (string | Heading | false)[];
  /** The rows. */
  readonly children: ComponentChildren;
  readonly label?: string;
  /** Beside `list`. */
  readonly class?: 'roomy' | 'halts' | 'accounts';
}

export function Table({ head, children, label, class: kind }: TableProps) {
  return (
    <table class={kind === undefined ? 'list' : `list ${kind}`} aria-label={label}>
      <thead>
        <tr>
          {head.map((heading) => {
            if (heading === false) return null;
            const { text, ...attributes } = typeof heading === 'string' ? { text: heading } : heading;
            return (
              <th scope="col" {...attributes}>
                {text}
              </th>
            );
          })}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
