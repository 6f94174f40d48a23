import { expect, it } from 'vitest';
import { isFiltered, type RunReport, slowestFiles, summarise } from './summarise-run.ts';

function report(over: Partial<RunReport> = {}): RunReport {
  return { numPassedTests: 3, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [], ...over };
}
const file = (status: string, tests: string[]) => ({
  name: 'a.test.ts',
  status,
  assertionResults: tests.map((one) => ({ status: one, title: 'a test' })),
});

it('counts what passed and what failed', () => {
  expect(summarise(report(), 0)).toEqual({ passed: 3, failed: 0, complaints: [] });
  expect(
    summarise(report({ numFailedTests: 2, testResults: [file('failed', ['failed', 'failed'])] }), 1),
  ).toMatchObject({
    passed: 3,
    failed: 2,
    complaints: ['failed: a.test.ts › a test', 'failed: a.test.ts › a test'],
  });
});

it('tells a failed test by its whole name, and its error without the middle', () => {
  const printed = Array.from({ length: 20 }, (_, line) => `line ${line}`);
  const stack = Array(30).fill('    at a line');
  const message = ['\u001b[31mError: lost\u001b[39m', '', 'x'.repeat(900), ...printed, ...stack].join('\n');
  const test = { status: 'failed', title: 'loses nothing', ancestorTitles: ['a service'], failureMessages: [message] };
  const testResults = [{ name: 'a.test.ts', status: 'failed', assertionResults: [test] }];
  const [complaint] = summarise(report({ numFailedTests: 1, testResults }), 1).complaints;
  expect(complaint?.split('\n')).toEqual([
    'failed: a.test.ts › a service › loses nothing',
    '  Error: lost',
    `  ${'x'.repeat(200)}`,
    '  line 0',
    '  line 1',
    '  …',
    ...printed.slice(-8).map((line) => `  ${line}`),
    ...Array(3).fill('      at a line'),
  ]);
});

it.each([
  ['a skipped test', report({ numPendingTests: 1 }), 0],
  ['a test that is still to be written', report({ numTodoTests: 1 }), 0],
  ['a file that broke before its tests', report({ testResults: [file('failed', [])] }), 1],
  ['a run without tests', report({ numPassedTests: 0 }), 0],
  ['an error outside the tests', report(), 1],
  ['a missing report', undefined, 0],
])('takes %s for a failure, and says so', (_what, given, exitCode) => {
  expect(summarise(given, exitCode)).toMatchObject({ failed: 1, complaints: [expect.any(String)] });
});

it('names the files that took longest', () => {
  const took = (name: string, seconds: number) => ({
    ...file('passed', ['passed']),
    name: `/a/checkout/test/${name}`,
    startTime: 1_000,
    endTime: 1_000 + seconds * 1000,
  });
  const testResults = [took('a.test.ts', 2), took('deep/b.deep.ts', 70), took('c.test.ts', 9)];
  expect(slowestFiles(report({ testResults }), 2)).toBe(
    'slowest files, in seconds: test/deep/b.deep.ts 70, test/c.test.ts 9',
  );
});

it('leaves out what the caller filtered away, but not a run without a test', () => {
  expect([
    isFiltered(['--project', 'unit']),
    isFiltered(['-t', 'name']),
    isFiltered(['--testNamePattern=name']),
  ]).toEqual([false, true, true]);
  expect(summarise(report({ numPendingTests: 9 }), 0, true)).toEqual({ passed: 3, failed: 0, complaints: [] });
  expect(summarise(report({ numPassedTests: 0, numPendingTests: 9 }), 0, true)).toMatchObject({ failed: 1 });
});
