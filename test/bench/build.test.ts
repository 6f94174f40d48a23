import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkOut, here, inTurns } from '../../bench/build.ts';
import { Cleanup } from '../../bench/cleanup.ts';

test('two builds are taken in one order and then in the other, a single one once', () => {
  const [a, b] = [
    { name: 'a', root: '/a' },
    { name: 'b', root: '/b' },
  ] as const;
  expect(inTurns([a])).toEqual([a]);
  expect(inTurns([a, b])).toEqual([a, b, b, a]);
});

test('another commit has a checkout with the packages of this one, which is gone at the end', async () => {
  const cleanup = new Cleanup();
  const { root } = checkOut(cleanup, 'HEAD');
  expect(root).not.toBe(here.root);
  expect(existsSync(join(root, 'bench/write-path.ts'))).toBe(true);
  expect(existsSync(join(root, 'node_modules/pg/package.json'))).toBe(true);
  await cleanup.run();
  expect([existsSync(root), existsSync(join(here.root, 'node_modules/pg'))]).toEqual([false, true]);
});

test.for(['no-such-branch', '--help', 'HEAD:src'])('%s is no commit, said in a sentence', (ref) => {
  expect(() => checkOut(new Cleanup(), ref)).toThrow(`there is no commit ${ref}`);
});
