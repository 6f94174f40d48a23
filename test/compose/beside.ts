import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunSummary, summarise } from '../support/runs/summarise-run.ts';
import { runVitest } from '../support/runs/vitest-run.ts';
import { cannotRunFile } from './cannot-run.ts';

interface ComposeRun {
  readonly summary: RunSummary;
  readonly output: string;
  /** Why nothing was tried, and what to do; absent once a test has begun, whatever came of it. */
  readonly notRun?: string;
}

/**
 * The Compose test as a part of a whole `npm run test:deep`: most of it is waiting for
 * containers, so it has a process of its own and no worker of the others. Where it can't be
 * prepared, without an engine above all, which not everybody can start, the other tests still
 * count, and why this one was left out is said.
 */
export async function runComposeBeside(): Promise<ComposeRun> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-cannot-run-'));
  const reason = join(folder, 'reason');
  try {
    const { report, code, output } = await runVitest(['--config', 'test/compose/vitest.config.ts'], {
      keepOutput: true,
      // The engine removes its own folder, and its sockets need a short path.
      env: { [cannotRunFile]: reason, TMPDIR: tmpdir() },
    });
    if (!existsSync(reason)) return { summary: summarise(report, code), output };
    return { summary: { passed: 0, failed: 0, complaints: [] }, output: '', notRun: readFileSync(reason, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
