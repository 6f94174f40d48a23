/**
 * `npm test`: every project of vitest.config.ts, on the Node that runs this file, then one plain last line `N passed, N failed`.
 * Arguments go through to vitest (`npm test -- --project unit test/domain`).
 *
 * A skipped or todo test counts as failed, and so does a run without a test: silence must not look like success. A whole run fails, too, when a test that
 * docs/platform.md names as proof did not pass in it.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { namedTests, notPassed } from './support/named-tests.ts';
import { isFiltered, type RunReport, summarise } from './support/summarise-run.ts';

const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
const reportFile = join(folder, 'report.json');

function runVitest(): Promise<number> {
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${reportFile}`,
  ];
  const child = spawn(process.execPath, [...args, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' },
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    child.on('error', () => resolve(1));
    child.on('close', (code) => resolve(code ?? 1));
  });
}

function readReport(): RunReport | undefined {
  try {
    const report: RunReport = JSON.parse(readFileSync(reportFile, 'utf8'));
    return report;
  } catch {
    return undefined;
  }
}

const code = await runVitest();
const report = readReport();
const summary = summarise(report, code, isFiltered(process.argv));
rmSync(folder, { recursive: true, force: true });
const isWhole = process.argv.length === 2;
const unproven = isWhole && report !== undefined ? notPassed(report, namedTests(readFileSync('docs/platform.md', 'utf8'))) : [];
const failed = summary.failed + unproven.length;
for (const line of summary.complaints) console.error(line);
for (const { file, title } of unproven) console.error(`docs/platform.md names what did not pass: ${file} › ${title}`);
console.log(`${summary.passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
