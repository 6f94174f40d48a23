import { expect, it } from 'vitest';
import { loadAgain } from '../../src/console/parts/load-again.ts';

const waits: number[] = [];
const ports = {
  after: (ms: number, run: () => void) => {
    waits.push(ms);
    queueMicrotask(run);
    return { cancel: () => undefined };
  },
};

it('loads a part again until it is there, and gives up after a few seconds with the last fault', async () => {
  let tries = 0;
  const from = (good: number) => async () => {
    tries += 1;
    if (tries < good) throw new Error(`try ${tries}`);
    return 'the part';
  };
  expect(await loadAgain(ports, from(1))).toBe('the part');
  expect(waits).toEqual([]);
  tries = 0;
  expect(await loadAgain(ports, from(3))).toBe('the part');
  expect(waits).toEqual([250, 1_000]);
  tries = 0;
  await expect(loadAgain(ports, from(9))).rejects.toThrow('try 4');
});
