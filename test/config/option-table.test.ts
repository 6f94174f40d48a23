import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type Option, optionGroups } from '../../src/config/option.ts';
import { optionTable } from '../../src/config/option-table.ts';

const options: [string, Option<unknown>][] = Object.entries(optionTable);

it('every variable stands in the table once', () => {
  const names = options.map(([, { env }]) => env);
  expect(new Set(names).size).toBe(names.length);
});

it('every default is a value that the option itself takes, and none is a secret', () => {
  for (const [key, option] of options) {
    if (option.fallback === undefined) continue;
    expect(option.parse(option.fallback), key).toMatchObject({ ok: true });
    expect(option.secret, key).toBeUndefined();
  }
});

it('every number has a name that tells its unit, or counts what the name says', () => {
  for (const [key, { kind, env }] of options) {
    if (/of milliseconds/.test(kind))
      expect([key, env], key).toEqual([expect.stringMatching(/Ms$/), expect.stringMatching(/_MS$/)]);
    if (/of (days|bytes)/.test(kind)) expect(env, key).toMatch(/_(DAYS|BYTES)$/);
  }
});

it('every option is described in whole sentences, in a group of the page', () => {
  for (const [key, { describe, group }] of options) {
    expect(describe, key).toMatch(/^[A-Z`].*\.$/);
    expect(optionGroups, key).toContain(group);
  }
});

it('every option is read by somebody', () => {
  const readers = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('config/'))
    .map((file) => readFileSync(`src/${file}`, 'utf8'))
    // It declares options, and reads some.
    .concat(readFileSync('src/config/venue-options.ts', 'utf8').replaceAll(/\w+\??:/g, ''))
    .join('\n');
  // NODE_ENV only decides which values the configuration refuses.
  const unread = options.filter(([key]) => key !== 'environment' && !new RegExp(`\\b${key}\\b`).test(readers));
  expect(unread.map(([key]) => key)).toEqual([]);
});
