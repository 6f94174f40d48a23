import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Changes, type Marks } from '../../../src/store/fleet/changes.ts';

const none: Marks = { halts: null, tokens: null, logins: null, repairs: null, results: null };

const step = fc.oneof(
  { weight: 3, arbitrary: fc.constant('change' as const) },
  { weight: 3, arbitrary: fc.constant('begin a look' as const) },
  { weight: 3, arbitrary: fc.constant('answer a look' as const) },
  { weight: 3, arbitrary: fc.constant('read' as const) },
  { weight: 1, arbitrary: fc.constant('read in vain' as const) },
  { weight: 2, arbitrary: fc.constant('wait' as const) },
);

it('a reader has the rows of now after the next look and its next turn, whatever came before', async () => {
  let spared = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), fc.nat(900), async (steps, waitMs) => {
      let nowMs = 0;
      let rows = 1;
      let known = 0;
      const changes = new Changes({ monotonicMs: () => nowMs });
      const readIfChanged = changes.readerOf('halts');
      const looks: number[] = [];
      const read = async (isGood: boolean) => {
        let isRead = false;
        await readIfChanged(async () => {
          isRead = true;
          if (isGood) known = rows;
          return isGood;
        });
        if (!isRead) spared += 1;
      };
      const answer = () => {
        const seen = looks.shift();
        if (seen !== undefined) changes.saw({ ...none, halts: `${seen}` });
      };
      for (const each of steps) {
        if (each === 'change') rows += 1;
        else if (each === 'begin a look') looks.push(rows);
        else if (each === 'answer a look') answer();
        else if (each === 'wait') nowMs += waitMs;
        else await read(each === 'read');
      }
      while (looks.length > 0) answer();
      looks.push(rows);
      answer();
      await read(true);
      expect(known).toBe(rows);
    }),
  );
  expect(spared).toBeGreaterThan(50);
});

it('a process that makes no look, and one that has read long ago, reads again', async () => {
  let nowMs = 0;
  let reads = 0;
  const changes = new Changes({ monotonicMs: () => nowMs });
  const readIfChanged = changes.readerOf('tokens');
  const read = () =>
    readIfChanged(async () => {
      reads += 1;
      return true;
    });
  const look = () => changes.saw({ ...none, tokens: '7', results: 'none' });
  look();
  await read();
  await read();
  expect([reads, changes.isNone('results'), changes.isNone('repairs')]).toEqual([1, true, false]);
  nowMs += 2_000;
  await read();
  expect([reads, changes.isNone('results')]).toEqual([2, false]);
  for (; nowMs < 40_000; nowMs += 500) {
    look();
    await read();
  }
  expect(reads).toBe(4);
});
