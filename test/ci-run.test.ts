import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
// Comes with testcontainers, which reads Compose files by it.
import { parse } from 'yaml';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-ci-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/**
 * Runs .ci/run in a checkout of its own, where `npm` does what
 * the test says for each of its arguments.
 */
function ci(cases: string, scripts: Record<string, string> = {}) {
  mkdirSync(join(folder, '.ci'));
  copyFileSync('.ci/run', join(folder, '.ci/run'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts }, undefined, 2));
  mkdirSync(join(folder, 'bin'));
  const npm = join(folder, 'bin/npm');
  writeFileSync(npm, `#!/bin/sh\necho "npm $*" >>"${folder}/calls"\ncase "$*" in\n${cases}\nesac\n`);
  chmodSync(npm, 0o755);
  const run = spawnSync(join(folder, '.ci/run'), {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${join(folder, 'bin')}:${process.env['PATH']}` },
  });
  return { code: run.status, last: run.stdout.trimEnd().split('\n').at(-1) };
}

const tests = (line: string, code = 0) => `test) echo "${line}"; exit ${code};;`;

describe('.ci/run', () => {
  it('adds the steps and the tests up in its last line', () => {
    expect(ci(tests('12 passed, 0 failed'))).toEqual({ code: 0, last: '20 passed, 0 failed' });
  });

  it('runs the deep tests where there are any', () => {
    const deep = `"run test:deep") echo "5 passed, 0 failed";;`;
    expect(ci(`${tests('12 passed, 0 failed')}\n${deep}`, { 'test:deep': 'x' })).toEqual({
      code: 0,
      last: '25 passed, 0 failed',
    });
  });

  it('counts failed tests, and ends with a failure', () => {
    expect(ci(tests('10 passed, 2 failed', 1))).toEqual({ code: 1, last: '18 passed, 2 failed' });
  });

  it('counts a step that fails', () => {
    expect(ci(`"run -s lint") exit 1;;\n${tests('12 passed, 0 failed')}`)).toEqual({
      code: 1,
      last: '19 passed, 1 failed',
    });
  });

  it('counts tests that break off without a last line, and tests that fail in spite of it', () => {
    expect(ci('test) echo "killed"; exit 137;;')).toEqual({ code: 1, last: '8 passed, 1 failed' });
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    expect(ci(tests('12 passed, 0 failed', 1))).toEqual({ code: 1, last: '20 passed, 1 failed' });
  });

  it('stops when the packages cannot be installed', () => {
    expect(ci('ci*) exit 1;;')).toEqual({ code: 1, last: '0 passed, 1 failed' });
  });
});

it('the workflow of GitHub runs .ci/run, the Compose test and the package beside it, and attests what a push built', () => {
  const { jobs } = parse(readFileSync('.github/workflows/ci.yml', 'utf8'));
  const ours = (job: string) =>
    jobs[job].steps.flatMap(({ run = '' }) => (/\bapt-get\b/.test(run) || run === '' ? [] : [run]));
  expect(Object.keys(jobs)).toEqual(['run', 'compose', 'package']);
  expect(ours('run')).toEqual(['.ci/run']);
  expect(JSON.stringify(jobs['run'])).not.toContain('npm ');
  expect(ours('compose')).toEqual(['npm ci --strict-allow-scripts --no-audit --no-fund', 'npm run test:compose']);
  const install = 'npm ci --strict-allow-scripts --no-audit --no-fund';
  expect(ours('package')).toEqual([install, 'npm pack', 'npm run -s sbom > tidemark.cdx.json']);
  const { permissions, steps } = jobs['package'];
  expect(permissions).toEqual({ contents: 'read', 'id-token': 'write', attestations: 'write' });
  const attested = steps.filter(({ uses = '' }) => uses.startsWith('actions/attest-'));
  const onPush = { if: "github.event_name == 'push'" };
  expect(attested).toEqual([
    { uses: 'actions/attest-build-provenance@v2', ...onPush, with: { 'subject-path': 'tidemark-*.tgz' } },
    {
      uses: 'actions/attest-sbom@v2',
      ...onPush,
      with: { 'subject-path': 'tidemark-*.tgz', 'sbom-path': 'tidemark.cdx.json' },
    },
  ]);
});
