/**
 * `npm test`, `npm run test:deep` and `npm run test:compose`: one run of vitest on the Node that
 * runs this file, then one plain last line `N passed, N failed`. Arguments go through to vitest:
 * `npm test -- --project unit test/domain`. A whole deep run has docker-compose.yml on an engine
 * beside it; where no engine is to be had it says so, and what to do, above its last line.
 *
 * A skipped or todo test counts as failed, and so does a run without a test: silence
 * must not look like success. A whole `npm test` fails, too, when a test that
 * test/docs/spec-coverage.md names as proof did not pass in it.
 */
import { readFileSync } from 'node:fs';
import { runComposeBeside } from './compose/beside.ts';
import { namedTests, notPassed } from './support/runs/named-tests.ts';
import { isFiltered, slowestFiles, summarise } from './support/runs/summarise-run.ts';
import { runVitest } from './support/runs/vitest-run.ts';

const args = process.argv.slice(2);
const [config, filters] = args[0] === '--config' ? [args[1], args.slice(2)] : [undefined, args];
const isWhole = filters.length === 0;
const withCompose = isWhole && config === 'test/deep/vitest.config.ts';
const [{ report, code }, compose] = await Promise.all([runVitest(args), withCompose ? runComposeBeside() : undefined]);

if (compose !== undefined) process.stdout.write(compose.output);
const summaries = [summarise(report, code, isFiltered(args)), ...(compose === undefined ? [] : [compose.summary])];
const unproven =
  isWhole && config === undefined && report !== undefined
    ? notPassed(report, namedTests(readFileSync('test/docs/spec-coverage.md', 'utf8')))
    : [];

for (const { complaints } of summaries) for (const line of complaints) console.error(line);
for (const { file, title } of unproven)
  console.error(`test/docs/spec-coverage.md names what did not pass: ${file} › ${title}`);
const passed = summaries.reduce((sum, summary) => sum + summary.passed, 0);
const failed = summaries.reduce((sum, summary) => sum + summary.failed, unproven.length);
if (isWhole && report !== undefined) console.log(slowestFiles(report, 25));
if (compose?.notRun !== undefined) console.log(`NOT RUN, docker-compose.yml on an engine: ${compose.notRun}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
