import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { optionTable } from '../src/config/option-table.ts';
import { ensureProgram } from './support/servers/debian-package.ts';

const text = readFileSync('systemd/tidemark.service', 'utf8');
const valuesOf = (name: string) =>
  [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);

describe('the unit for systemd', () => {
  let folder: string;
  let unit: string;

  beforeAll(() => {
    ensureProgram('systemd-analyze', 'systemd');
    folder = mkdtempSync(join(tmpdir(), 'tidemark-unit-'));
    unit = join(folder, 'tidemark.service');
    // It is not installed on this machine, and systemd looks whether the program is there.
    writeFileSync(unit, text.replace('/opt/tidemark/node_modules/.bin/tidemark', process.execPath));
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const analyze = (...words: string[]) => spawnSync('systemd-analyze', [...words, unit], { encoding: 'utf8' });

  it('has no directive that systemd does not know', () => {
    const { status, stderr } = analyze('verify');
    expect([status, stderr]).toEqual([0, '']);
  });

  it('exposes at most 1.5 of 10 points', () => {
    const { status, stdout, stderr } = analyze('security', '--offline=true', '--threshold=15');
    expect([status, stderr], stdout).toEqual([0, '']);
  });

  it('sets only settings that there are, and gives each credential to one', () => {
    const names = valuesOf('Environment').flatMap((line) => line.split(' ').map((word) => word.split('=')));
    const settings = new Set<string>(Object.values(optionTable).map(({ env }) => env));
    const ours = names.map(([name = '']) => name.replace(/_FILE$/, '')).filter((name) => name !== 'XDG_CACHE_HOME');
    expect(ours.filter((name) => !settings.has(name))).toEqual([]);
    const files = names.filter(([name = '']) => name.endsWith('_FILE')).map(([, path]) => path);
    expect(files).toEqual(valuesOf('LoadCredential').map((credential) => `%d/${credential.split(':')[0]}`));
  });

  it('gives as much time and memory as the container has', () => {
    const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true });
    const { stop_grace_period: stop, mem_limit: memory } = services.tidemark;
    expect([`${valuesOf('TimeoutStopSec')[0]}s`, valuesOf('MemoryMax')[0]?.toLowerCase()]).toEqual([stop, memory]);
  });
});
