import type { ComponentChildren } from 'preact';

export type Fact = readonly [label: string, value: ComponentChildren];

interface FactsProps {
  /** A fact without a value is left out. */
  readonly facts: readonly Fact[];
  readonly class?: 'terms' | 'proof-figures';
  /** These take the room of two. */
  readonly long?: readonly string[];
}

/** What is known about one thing, each value below its label. */
export function Facts({ facts, class: kind = 'terms', long = [] }: FactsProps) {
  return (
    <dl class={kind}>
      {facts
        .filter(([, value]) => value !== undefined)
        .map(([label, value]) => (
          <div class={long.includes(label) ? 'long' : undefined}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
