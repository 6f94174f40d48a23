import { checkNames, type Environment } from './check-names.ts';
import type { ConfigFault, ConfigWith, EffectiveValue } from './config.ts';
import { checkRules } from './config-rules.ts';
import type { Option } from './option.ts';
import { type OptionName, optionTable } from './option-table.ts';
import { readOptionText } from './read-option-text.ts';

export type LoadResult<K extends OptionName> =
  | {
      readonly ok: true;
      readonly config: ConfigWith<K>;
      /** Every option, in the order of the table. */
      readonly effective: readonly EffectiveValue[];
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly faults: readonly ConfigFault[]; readonly warnings: readonly string[] };

const entries = Object.entries<Option<unknown>>(optionTable);

/** Every variable that means something to us. */
export const knownNames: readonly string[] = entries.flatMap(([, option]) => [
  option.env,
  ...(option.secret ? [`${option.env}_FILE`] : []),
]);

/**
 * Reads the whole configuration once. All faults are found at once: options that don't parse, options in `needed` that are missing,
 * broken rules between options, and slips in names. `readFile` reads the files that `*_FILE` variables name.
 */
export function loadConfig<K extends OptionName = never>(
  env: Environment,
  readFile: (path: string) => string,
  needed: readonly K[] = [],
): LoadResult<K> {
  const faults: ConfigFault[] = [];
  const values: Record<string, unknown> = {};
  const effective: EffectiveValue[] = [];
  for (const [key, option] of entries) {
    const outcome = readOption(option, env, readFile);
    if ('problem' in outcome) {
      faults.push(outcome);
      continue;
    }
    effective.push(outcome.effective);
    if (outcome.effective.source !== 'unset') values[key] = outcome.value;
    else if (needed.some((name) => name === key))
      faults.push({ name: option.env, problem: `is not set (${option.kind}): ${option.describe}` });
  }
  const names = checkNames(env, knownNames);
  // The values were parsed by the table from which `Config` is inferred, key by key; the type checker can't follow that through a loop.
  const config = Object.freeze(values) as ConfigWith<K>;
  faults.push(...checkRules(config, env), ...names.faults);
  if (faults.length > 0) return { ok: false, faults, warnings: names.warnings };
  return { ok: true, config, effective, warnings: names.warnings };
}

interface ReadOption {
  readonly effective: EffectiveValue;
  readonly value: unknown;
}

function readOption(option: Option<unknown>, env: Environment, readFile: (path: string) => string): ConfigFault | ReadOption {
  const read = readOptionText(option, env, readFile);
  if (read.kind === 'fault') return { name: read.name, problem: read.problem };
  const text = read.kind === 'text' ? read.text : option.fallback;
  const { env: name, secret } = option;
  if (text === undefined) return { effective: { env: name, source: 'unset', shown: '', secret }, value: undefined };
  const parsed = option.parse(text);
  if (!parsed.ok) return { name, problem: parsed.problem };
  const source = read.kind === 'text' ? read.source : 'default';
  return { effective: { env: name, source, shown: parsed.shown, secret }, value: parsed.value };
}
