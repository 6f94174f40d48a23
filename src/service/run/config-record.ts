import { createHmac } from 'node:crypto';
import type { Pool } from 'pg';
import type { Config, EffectiveValue } from '../../config/config.ts';
import type { Option } from '../../config/option.ts';
import { optionTable } from '../../config/option-table.ts';
import type { Ambient } from '../../observability/ambient.ts';
import { Secret } from '../../runtime/secret.ts';
import { newestConfiguration, recordAction, type SettingTexts } from '../../store/commands/read-audit-trail.ts';
import { untilAnswered } from '../commands/until-answered.ts';

interface ConfigRecordDeps extends Ambient {
  readonly pool: Pool;
}

interface ConfigRecordOptions {
  readonly config: Config;
  readonly effective: readonly EffectiveValue[];
  readonly instance: string;
}

/**
 * Writes the configuration into the audit trail if it differs from the last recorded one. It does
 * so at a term's start, so the trail has the settings of the process at work. A term does not wait
 * for it, and it is tried until the database takes it.
 */
export class ConfigRecord {
  private recording: Promise<void> = Promise.resolve();
  private over = new AbortController();
  private readonly deps: ConfigRecordDeps;
  private readonly options: ConfigRecordOptions;

  constructor(deps: ConfigRecordDeps, options: ConfigRecordOptions) {
    this.deps = deps;
    this.options = options;
  }

  begin(): void {
    this.over.abort();
    this.over = new AbortController();
    const onFailure = (err: unknown) =>
      this.deps.log.warn({ err }, 'the configuration could not be compared with the audit trail');
    const asking = { journalBackoff: { firstMs: 1_000, maxMs: 60_000 }, over: this.over.signal, onFailure };
    this.recording = this.recording.then(() => untilAnswered(this.deps, () => this.record(), asking));
  }

  /**
   * No further try: the next term begins again. Resolves when a write under way is done or given
   * up.
   */
  end(): Promise<void> {
    this.over.abort();
    return this.recording;
  }

  private async record(): Promise<void> {
    const { instance, config, effective } = this.options;
    const settings = settingTexts(config, effective);
    const changed = changedSettings(await newestConfiguration(this.deps.pool), settings, effective);
    if (Object.keys(changed).length === 0) return;
    await recordAction(this.deps.pool, 'configuration', { instance, changed, settings });
  }
}

/**
 * Each setting with a value, as it may be printed. A secret appears as a digest under the
 * encryption key: a new value is seen, and no value can be guessed. Without that key the text only
 * shows that one is set.
 */
function settingTexts(config: Config, effective: readonly EffectiveValue[]): SettingTexts {
  const values: Readonly<Record<string, unknown>> = config;
  const names = new Map(Object.entries<Option<unknown>>(optionTable).map(([name, { env }]) => [env, name]));
  const textOf = ({ env, shown, secret }: EffectiveValue) =>
    secret ? digestOf(values[names.get(env) ?? ''], config.encryptionKey) : shown;
  return Object.fromEntries(
    effective.filter(({ source }) => source !== 'unset').map((each) => [each.env, textOf(each)]),
  );
}

function digestOf(value: unknown, key: Secret | undefined): string {
  if (key === undefined) return 'set';
  const text = value instanceof Secret ? value.reveal() : JSON.stringify(value);
  return createHmac('sha256', key.reveal()).update(`tidemark settings v1\0${text}`).digest('hex').slice(0, 32);
}

/** By name: the text before and now, null for none; for a secret only that it changed. */
function changedSettings(before: SettingTexts, now: SettingTexts, effective: readonly EffectiveValue[]): object {
  const secrets = new Set(effective.filter(({ secret }) => secret).map(({ env }) => env));
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(
    (name) => before[name] !== now[name],
  );
  const change = (name: string) =>
    secrets.has(name) ? 'changed' : { from: before[name] ?? null, to: now[name] ?? null };
  return Object.fromEntries(names.map((name) => [name, change(name)]));
}
