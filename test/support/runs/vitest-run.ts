import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../servers/temporary-folder.ts';
import type { RunReport } from './summarise-run.ts';

interface VitestRun {
  /** Undefined where vitest left none: it was killed, or broke before its first test. */
  readonly report: RunReport | undefined;
  readonly code: number;
  /** What it printed; empty where that went to our own output. */
  readonly output: string;
}

interface VitestRunOptions {
  /** Keeps what it prints for later: two runs at once would print into each other's lines. */
  readonly keepOutput?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * One run of vitest to its end, on the Node that runs this; INT and TERM go on to it. Its temporary
 * folder is the run's own, unless `env` names one, and goes with it: a worker that is ended from
 * outside cleans up nothing.
 */
export async function runVitest(args: readonly string[], options: VitestRunOptions = {}): Promise<VitestRun> {
  const folder = mkdtempSync(join(temporaryFolder(), 'tidemark-test-'));
  // Postgres runs as another user, and has its data below.
  chmodSync(folder, 0o755);
  const file = join(folder, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const env = { TMPDIR: folder, ...options.env };
    const { code, output } = await toItsEnd(['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...args], {
      ...options,
      env,
    });
    return { report: readReport(file), code, output };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

function toItsEnd(args: readonly string[], options: VitestRunOptions): Promise<{ code: number; output: string }> {
  const env = { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0', ...options.env };
  const child = spawn(process.execPath, args, {
    stdio: options.keepOutput === true ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    env,
  });
  const said: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => said.push(chunk));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    const end = (code: number) => resolve({ code, output: Buffer.concat(said).toString() });
    child.on('error', () => end(1));
    child.on('close', (code) => end(code ?? 1));
  });
}

function readReport(file: string): RunReport | undefined {
  try {
    const report: RunReport = JSON.parse(readFileSync(file, 'utf8'));
    return report;
  } catch {
    return undefined;
  }
}
