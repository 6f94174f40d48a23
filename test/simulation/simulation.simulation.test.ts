import { describe, expect, it } from 'vitest';
import { keptForgettingSeeds, keptLosingSeeds, keptSeeds } from './kept-seeds.ts';
import { failuresOf, range } from './oracles/failures-of.ts';
import { seedsOfEachRun } from './oracles/keeps-every-promise.ts';
import { type RunResult, runSeed } from './run-seed.ts';

const limitMs = 300_000;

describe('the service, whatever goes wrong around it,', () => {
  it(
    'still does what it failed to do once',
    async () => {
      expect(await failuresOf([...keptSeeds.keys()].filter((seed) => seed > seedsOfEachRun))).toEqual([]);
    },
    limitMs,
  );

  it(
    'gives no revision twice when the database comes back without its last commits',
    async () => {
      expect(await failuresOf([...range(1, 20), ...keptLosingSeeds.keys()], { losing: true })).toEqual([]);
    },
    limitMs,
  );

  it(
    'forgets no halt that people were answered when the database comes back without it',
    async () => {
      expect(await failuresOf([...range(1, 12), ...keptForgettingSeeds.keys()], { forgetting: true })).toEqual([]);
    },
    limitMs,
  );

  it(
    'keeps every promise when the database lacks commits that nobody alive has seen',
    async () => {
      expect(await failuresOf(range(1, 6), { hiding: true })).toEqual([]);
    },
    limitMs,
  );

  it(
    'keeps every promise while shards change hands all the time',
    async () => {
      expect(await failuresOf(range(1, 6), { moving: true })).toEqual([]);
    },
    limitMs,
  );

  it(
    'writes nothing behind a halt that another process has answered, however steadily it places',
    async () => {
      expect(await failuresOf(range(1, 6), { leaking: true })).toEqual([]);
    },
    limitMs,
  );

  it(
    'does the same again from the same seed, down to the last byte',
    async () => {
      for (const seed of range(1, 3)) {
        const first = await runSeed(seed);
        const second = await runSeed(seed);
        expect(second).toEqual(first);
      }
      expect((await runSeed(1)).digest).not.toBe((await runSeed(2)).digest);
    },
    limitMs,
  );

  it(
    'is tried enough: orders change, processes come and go, the lane passes on',
    async () => {
      const results: RunResult[] = [];
      for (const seed of range(1, 20)) results.push(await runSeed(seed));
      const total = (of: (result: RunResult) => number) => results.reduce((sum, result) => sum + of(result), 0);
      expect(total(({ updates }) => updates)).toBeGreaterThan(1_500);
      expect(total(({ processes }) => processes)).toBeGreaterThan(25);
      expect(total(({ terms }) => terms)).toBeGreaterThan(25);
      expect(total(({ commands }) => commands)).toBeGreaterThan(100);
      expect(total(({ writes }) => writes)).toBeGreaterThan(75);
    },
    limitMs,
  );
});
