import type { OptionKind } from './option.ts';
import type { OptionName, OptionTable } from './option-table.ts';

type ValueOf<K extends OptionName> = OptionTable[K] extends OptionKind<infer T> ? T : never;
type WithFallback = { [K in OptionName]: OptionTable[K] extends { readonly fallback: string } ? K : never }[OptionName];

/** The effective configuration, frozen. Options without a default are absent unless set. */
export type Config = { readonly [K in WithFallback]: ValueOf<K> } & {
  readonly [K in Exclude<OptionName, WithFallback>]?: ValueOf<K>;
};

/** A configuration with the named options certainly set. */
export type ConfigWith<K extends OptionName> = Config & { readonly [N in K]: ValueOf<N> };

/** One configuration fault: a line for people, without any secret. */
export interface ConfigFault {
  /** The environment variable. */
  readonly name: string;
  /** Continues the sentence that begins with the name. */
  readonly problem: string;
}

/** A value's source, and how it may be printed. */
export interface EffectiveValue {
  readonly env: string;
  readonly source: 'default' | 'environment' | 'file' | 'unset';
  readonly shown: string;
  readonly secret: boolean;
}
