import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Recorder } from '../../../src/service/run/recorder.ts';
import type { RecordedRow } from '../../../src/service/sources/recorded-row.ts';
import { eventually } from '../../support/runs/poll.ts';

function given(maxBytes = 8_000_000, within?: string) {
  const home = mkdtempSync(join(tmpdir(), 'tidemark-record-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const folder = within ?? join(home, 'recording');
  const said: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => void said.push(line) });
  const recorder = new Recorder({ clock: systemClock, log }, { folder, maxBytes, holder: 'host-1' });
  const files = () => readdirSync(folder).sort();
  const lines = () =>
    files()
      .filter((name) => name.endsWith('.ndjson'))
      .flatMap((name) => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'))
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return { home, folder, recorder, files, lines, said };
}

const row = (text: string): RecordedRow => ({ stream: 'account', cause: 'stream', observedAtMs: 1, text });
const bytesOf = (folder: string, files: readonly string[]) =>
  files.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);

describe('the recorder', () => {
  it('writes each row as a line, in order, also those of the last moment; only its own user may read them', async () => {
    const { recorder, lines, folder, files } = given();
    await recorder.start();
    recorder.take(row('one'));
    await eventually(() => expect(lines()).toEqual([row('one')]));
    recorder.take(row('two "quoted"\n'));
    await recorder.drain();
    expect(lines()).toEqual([row('one'), row('two "quoted"\n')]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, files()[0] ?? '')).mode & 0o777).toBe(0o600);
  });

  it('begins new files, and removes the oldest recordings of any process above its bound, and nothing else', async () => {
    const { folder, recorder, files, lines } = given(800_000);
    await recorder.start();
    const old = 'tidemark-20200101T000000Z-other-1-00001.ndjson';
    writeFileSync(join(folder, old), JSON.stringify({ text: 'x'.repeat(90_000) }));
    writeFileSync(join(folder, 'notes.txt'), 'x'.repeat(500_000));
    for (let at = 0; at < 12; at += 1) {
      recorder.take(row(`${at} ${'y'.repeat(80_000)}`));
      await eventually(() => expect(lines().at(-1)?.text).toMatch(new RegExp(`^${at} `)));
    }
    await recorder.drain();
    expect(files()).toContain('notes.txt');
    expect(files()).not.toContain(old);
    const recordings = files().filter((name) => name !== 'notes.txt');
    expect(recordings.length).toBeGreaterThan(5);
    expect(bytesOf(folder, recordings)).toBeLessThanOrEqual(800_000);
  });

  it('says at their place how many rows found no room, and goes on', async () => {
    const { recorder, lines } = given();
    for (let at = 0; at < 40; at += 1) recorder.take(row('z'.repeat(1_000_000)));
    await recorder.start();
    await recorder.drain();
    const all = lines();
    expect(all.at(-1)).toEqual({ leftOut: 40 - (all.length - 1) });
    expect(all.length).toBeGreaterThan(30);
  });

  it('counts what the disk refused, and says it once the disk takes lines again', async () => {
    const { recorder, folder, lines, said } = given();
    await recorder.start();
    rmSync(folder, { recursive: true });
    recorder.take(row('lost'));
    recorder.take(row('lost'));
    await eventually(() => expect(said.at(-1)).toMatch(/"rows":2,"msg":"rows could not be recorded"/));
    mkdirSync(folder);
    recorder.take(row('kept'));
    await recorder.drain();
    expect(lines()).toEqual([{ leftOut: 2 }, row('kept')]);
  });

  it('does not start where nothing can be written', async () => {
    const { home } = given();
    const file = join(home, 'a-file');
    writeFileSync(file, '');
    const { recorder } = given(8_000_000, join(file, 'recording'));
    await expect(recorder.start()).rejects.toMatchObject({ code: 'RECORD', message: /nothing can be recorded in/ });
  });
});
