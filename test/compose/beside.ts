import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunSummary, summarise } from '../support/summarise-run.ts';
import { runVitest } from '../support/vitest-run.ts';
import { noEngineFile } from './no-engine-error.ts';

export interface ComposeRun {
  readonly summary: RunSummary;
  readonly output: string;
  /** Why there is no engine, and what to do; absent where there is one, whatever came of it. */
  readonly notRun?: string;
}

/**
 * The Compose test as a part of a whole `npm test`: most of it is waiting for containers, so it has a process of its own and no worker of the others. Without
 * an engine, which not everybody can start, the other tests still count, and why this one was left out is said.
 */
export async function runComposeBeside(): Promise<ComposeRun> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-no-engine-'));
  const reason = join(folder, 'reason');
  try {
    const { report, code, output } = await runVitest(['--config', 'test/compose/vitest.config.ts'], {
      keepOutput: true,
      env: { [noEngineFile]: reason },
    });
    if (!existsSync(reason)) return { summary: summarise(report, code), output };
    return { summary: { passed: 0, failed: 0, complaints: [] }, output: '', notRun: readFileSync(reason, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
