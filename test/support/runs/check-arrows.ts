/**
 * Runs dependency-cruiser over src/ and fails on a wrong arrow, and also when it saw next to
 * nothing (it reports "no violations" then).
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file)).length;
const run = spawnSync(process.execPath, ['tools/checks/run.ts', 'depcruise', 'src', '--output-type', 'err'], {
  encoding: 'utf8',
  env: { ...process.env, NO_COLOR: '1' },
});
process.stdout.write(run.stdout);
process.stderr.write(run.stderr);
const seen = Number(/\((\d+) modules/.exec(run.stdout)?.[1] ?? 0);
if (run.status === 0 && seen < sources) {
  process.stderr.write(
    `arrows: dependency-cruiser saw ${seen} modules, but src/ has ${sources} files: the check is blind\n`,
  );
  process.exitCode = 1;
} else {
  process.exitCode = run.status ?? 1;
}
