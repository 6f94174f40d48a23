import { expect, test } from 'vitest';
import { Cleanup } from '../../bench/cleanup.ts';

test('the newest is undone first, and each once', async () => {
  const cleanup = new Cleanup();
  const undone: string[] = [];
  for (const name of ['server', 'database', 'service']) {
    cleanup.add(async () => {
      undone.push(name);
    });
  }
  await Promise.all([cleanup.run(), cleanup.run()]);
  await cleanup.run();
  expect(undone).toEqual(['service', 'database', 'server']);
});

test('what was undone earlier is not undone again', async () => {
  const cleanup = new Cleanup();
  let times = 0;
  const early = cleanup.add(async () => {
    times += 1;
  });
  await early();
  await early();
  await cleanup.run();
  expect(times).toBe(1);
});
