import { stripVTControlCharacters } from 'node:util';

interface TestReport {
  readonly status: string;
  readonly title: string;
  /** Its describe blocks, outermost first. */
  readonly ancestorTitles?: readonly string[];
  /** Each error with its stack, with colours. */
  readonly failureMessages?: readonly string[];
}

/** The part of vitest's JSON report (the shape of Jest's) that the verdict needs. */
export interface RunReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    /** Milliseconds since 1970. */
    readonly startTime?: number;
    readonly endTime?: number;
    readonly assertionResults: readonly TestReport[];
  }[];
}

export interface RunSummary {
  readonly passed: number;
  readonly failed: number;
  /** Each failed test by name, and why something counts as failed that is none. */
  readonly complaints: readonly string[];
}

/** `-t <pattern>` leaves tests out by the caller's own wish. */
export function isFiltered(args: readonly string[]): boolean {
  return args.some((arg) => arg === '-t' || arg.startsWith('--testNamePattern'));
}

const mostLines = 12;
const mostCharacters = 200;
const stackLine = /^\s+at /;

/**
 * The test's whole name and its first error, shortened in the middle: a process that failed
 * says why in its last lines. A log is often kept only in part, and its end is kept most.
 */
function failureOf({ title, ancestorTitles = [], failureMessages = [] }: TestReport): string {
  const all = stripVTControlCharacters(failureMessages[0] ?? '').split('\n');
  const lines = all.filter((line) => line.trim() !== '');
  const message = lines.filter((line) => !stackLine.test(line));
  const middle = message.length > mostLines ? ['…'] : [];
  const end = message.slice(Math.max(4, message.length - mostLines + 4));
  const shown = [
    ...message.slice(0, 4),
    ...middle,
    ...end,
    ...lines.filter((line) => stackLine.test(line)).slice(0, 3),
  ];
  return [[...ancestorTitles, title].join(' › '), ...shown.map((line) => `  ${line.slice(0, mostCharacters)}`)].join(
    '\n',
  );
}

/**
 * The verdict on a run: no report, no test, a skipped test, a file that broke before its tests and
 * a failed process are failures.
 */
export function summarise(report: RunReport | undefined, exitCode: number, filtered = false): RunSummary {
  if (report === undefined)
    return { passed: 0, failed: 1, complaints: [`vitest left no report (exit code ${exitCode})`] };
  const complaints: string[] = [];
  const skipped = filtered ? 0 : report.numPendingTests + report.numTodoTests;
  if (skipped > 0) complaints.push(`${skipped} skipped or todo: a test that does not run counts as failed`);
  const broken = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  for (const file of broken) complaints.push(`${file.name} failed outside its tests`);
  for (const file of report.testResults)
    for (const test of file.assertionResults)
      if (test.status === 'failed') complaints.push(`failed: ${file.name} › ${failureOf(test)}`);
  let failed = report.numFailedTests + skipped + broken.length;
  if (report.numPassedTests + failed === 0) {
    failed = 1;
    complaints.push('no test ran');
  } else if (exitCode !== 0 && failed === 0) {
    failed = 1;
    complaints.push(`vitest ended with exit code ${exitCode} though no test failed: an error outside the tests`);
  }
  return { passed: report.numPassedTests, failed, complaints };
}

/** Where the time of a run went, in one line: the files that took longest, in seconds. */
export function slowestFiles({ testResults }: RunReport, most: number): string {
  const took = testResults.map(({ name, startTime = 0, endTime = 0 }) => ({
    name: name.slice(name.indexOf('/test/') + 1),
    seconds: Math.round((endTime - startTime) / 1000),
  }));
  const slowest = took.sort((a, b) => b.seconds - a.seconds).slice(0, most);
  return `slowest files, in seconds: ${slowest.map(({ name, seconds }) => `${name} ${seconds}`).join(', ')}`;
}
