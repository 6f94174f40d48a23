/**
 * A process for tests to kill: starts what its arguments name (`sleep`, `postgres`,
 * `kafka`), prints one line of JSON, and then holds it. Its temporary folders lie
 * in TMPDIR. Arguments: what, cache folder.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GuardedProcess } from '../../../src/demo/devstack/guarded-process.ts';
import { startEmbeddedKafka } from '../../../src/demo/devstack/start-embedded-kafka.ts';
import { startEmbeddedPostgres } from '../../../src/demo/devstack/start-postgres.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { testLog as log } from '../../support/runs/test-log.ts';

const [what = '', cacheDir = ''] = process.argv.slice(2);
const deps = { clock, log };

async function start(): Promise<number[]> {
  if (what === 'postgres') return [(await startEmbeddedPostgres(deps, { fast: true })).pid];
  if (what === 'kafka') return (await startEmbeddedKafka(deps, { cacheDir })).nodes.map(({ pid }) => pid);
  const folder = mkdtempSync(join(tmpdir(), 'guarded-'));
  const options = { name: 'sleep', folder, stopSignal: 'TERM', patienceMs: 5_000, onLine: () => undefined } as const;
  return [(await GuardedProcess.start(deps, { ...options, command: ['sleep', '1000'] })).pid];
}

process.stdout.write(`${JSON.stringify({ pids: await start() })}\n`);
