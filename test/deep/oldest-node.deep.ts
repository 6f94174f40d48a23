import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { expectNothingLeft, givenParts, lastLine, startDemo } from '../support/runs/running-demo.ts';
import { cacheDir } from '../support/servers/cache-dir.ts';

/** The first Node that package.json allows, from npm; everything else here runs on the newest. */
function oldestNode(): string {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
  const version = engines.node.replace('>=', '');
  const folder = join(cacheDir, `node-${version}`);
  const node = join(folder, `node_modules/node-linux-${process.arch}/bin/node`);
  if (!existsSync(node)) {
    mkdirSync(folder, { recursive: true });
    const args = ['install', '--prefix', folder, '--no-save', `node-linux-${process.arch}@${version}`];
    const { status, stderr } = spawnSync('npm', args, { encoding: 'utf8', timeout: 240_000 });
    expect([status, stderr]).toEqual([0, '']);
  }
  expect(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout).toBe(`v${version}\n`);
  return node;
}

it('the first Node that package.json allows runs the demo, with everything that it starts, to its proof', async () => {
  const demo = startDemo(['--seconds', '5', '--json'], await givenParts(), oldestNode());
  expect(await demo.exited, demo.err).toBe(0);
  expect(lastLine(demo.out)).toMatchObject({ lost: 0, doubled: 0, outOfOrder: 0 });
  expect(lastLine(demo.out)['updates']).toBeGreaterThan(0);
  await expectNothingLeft(demo);
}, 480_000);
