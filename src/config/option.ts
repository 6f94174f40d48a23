/** Where an option stands in the documentation, in this order. */
export const optionGroups = [
  'Process',
  'Postgres',
  'Kafka',
  'Platform',
  'Lane',
  'Ingest and relay',
  'Streams and audit',
  'REST',
  'Commands',
  'Command line',
] as const;

export type OptionGroup = (typeof optionGroups)[number];

/** The table's data of an option, beside its kind. */
export interface OptionText {
  /** The environment variable. */
  readonly env: string;
  readonly group: OptionGroup;
  /** For the person who has to choose a value: its effect, and when to change it. */
  readonly describe: string;
  /** The value when the variable is not set, as it would be written there. Without it the option is absent unless set. */
  readonly fallback?: string;
}

export type Parsed<T> =
  /** `shown` may be printed: the value as it would be written, masked where it is secret. */
  { readonly ok: true; readonly value: T; readonly shown: string } | { readonly ok: false; readonly problem: string };

export interface OptionKind<T> {
  /** For people: unit and range. */
  readonly kind: string;
  /** True: `<env>_FILE` may name a file that holds it, and no part of it is ever printed. */
  readonly secret: boolean;
  /** True: set but blank is a fault, not the same as unset. A blank list would widen a choice that it was meant to narrow. */
  readonly refusesBlank: boolean;
  /** `text` is trimmed and not empty. The problem continues the sentence "<env> …" and never quotes a secret. */
  parse(text: string): Parsed<T>;
}

export type Option<T> = OptionText & OptionKind<T>;
