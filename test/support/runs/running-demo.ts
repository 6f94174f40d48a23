import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, onTestFinished } from 'vitest';
import { emptyDatabase } from '../servers/database.ts';
import { commandLinesWith } from '../servers/processes.ts';
import { neutralEnv } from './neutral-env.ts';
import { eventually } from './poll.ts';
import { tidemarkEntry } from './tidemark-process.ts';

interface Demo {
  readonly child: ChildProcess;
  /**
   * Its TMPDIR: whatever it starts has this folder's name in its
   * command line, and leaves nothing in it.
   */
  readonly folder: string;
  readonly exited: Promise<number | null>;
  out: string;
  err: string;
}

/** The demo as a person starts it: nothing stands between it and the signals. */
export function startDemo(args: readonly string[], env: Readonly<Record<string, string>>): Demo {
  const folder = ownFolder();
  const child = spawn(process.execPath, [tidemarkEntry, 'demo', ...args], {
    env: { ...neutralEnv(), TMPDIR: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const demo: Demo = { child, folder, exited, out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    demo.out += chunk;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    demo.err += chunk;
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return demo;
}

/** Postgres and Kafka of the run, so that only what the test is about is the demo's own. */
export async function givenParts(): Promise<Record<string, string>> {
  return { ...(await givenDatabase()), KAFKA_BROKERS: inject('kafkaBrokers').join(',') };
}

export async function givenDatabase(): Promise<Record<string, string>> {
  const database = await emptyDatabase();
  onTestFinished(() => database.drop());
  return { DATABASE_URL: database.url };
}

export function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-demo-test-'));
  // As /tmp is: the user as whom root runs Postgres has to get through.
  chmodSync(folder, 0o1777);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function expectNothingLeft({ folder }: Demo): Promise<void> {
  await eventually(() => {
    expect(commandLinesWith(folder)).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });
}

/** The proof that the demo prints as its last line. */
export function lastLine(text: string): Record<string, unknown> {
  return JSON.parse(text.trimEnd().split('\n').at(-1) ?? '');
}
