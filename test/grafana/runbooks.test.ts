import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { alerts, runbookFile } from '../../grafana/source/generated-files.ts';
import { commandEntries } from '../../src/cli/commands.ts';
import { optionTable } from '../../src/config/option-table.ts';
import { knownSeries } from './known-series.ts';

const series = [...(await knownSeries()).keys()];
const known = new Set([...series, ...series.map((name) => name.replace(/_(bucket|sum|count)$/, ''))]);
const commands = new Set(commandEntries.map(({ name }) => name));
const options = new Set<string>(Object.values(optionTable).map(({ env }) => env));
const pages = alerts.map(({ name }) => ({ name, text: read(runbookFile(name)) }));

function read(file: string): string {
  return readFileSync(file, 'utf8');
}

function all(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, found = '']) => found);
}

describe.each(pages)('the runbook of $name', ({ name, text }) => {
  it('says what it means, how to look, what to do, and how one knows that it is over', () => {
    expect(text.startsWith(`# ${name}\n`)).toBe(true);
    expect(all(text, /^## (.*)$/gm)).toEqual([
      'What it means',
      'How to look',
      'What to do',
      'How to know that it is over',
    ]);
  });

  it('names metrics, commands and settings that there are', () => {
    expect(
      all(text, /\b((?:tidemark|nodejs|process|http)_[a-z0-9_]+|job:\w+:\w+)/g).filter((metric) => !known.has(metric)),
    ).toEqual([]);
    expect(all(text, /`tidemark ([a-z-]+)/g).filter((command) => !commands.has(command))).toEqual([]);
    const settings = all(text, /\b((?:TIDEMARK|PLATFORM|KAFKA)_[A-Z_]*[A-Z])\b(?!_\*)/g);
    expect(settings.filter((setting) => !options.has(setting) && setting !== 'KAFKA_SASL')).toEqual([]);
  });

  it('says by a metric that it is over', () => {
    const over = text.slice(text.indexOf('## How to know'));
    expect(over).toMatch(/`[^`]*(tidemark_|process_|up|job:)|No increase for/);
  });
});

it('a runbook in docs/runbooks is of an alert, or is linked from docs/operating.md', () => {
  const operating = read('docs/operating.md');
  const named = alerts.map(({ name }) => runbookFile(name));
  const others = globSync('docs/runbooks/*.md').filter((file) => !named.includes(file));
  expect(others.filter((file) => !operating.includes(file.slice('docs/'.length)))).toEqual([]);
});
