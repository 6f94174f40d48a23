import { describe, expect, it } from 'vitest';
import { keptAlpacaSeeds, keptForgettingSeeds, keptLosingSeeds, keptSeeds } from './kept-seeds.ts';
import { failuresIn, failuresOf, range, runSeeds } from './oracles/failures-of.ts';
import { seedsOfEachRun } from './oracles/keeps-every-promise.ts';

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
    'keeps every promise when the database lacks such commits, and Kafka can tell only later',
    async () => {
      expect(await failuresOf(range(1, 8), { stranding: true })).toEqual([]);
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
    'keeps every promise at Alpaca, whose lists go by creation and whose sessions have one account',
    async () => {
      const seeds = [...new Set([...range(1, 50), ...keptAlpacaSeeds.keys()])];
      const results = await runSeeds(seeds, { venue: 'alpaca' });
      expect(failuresIn(results, { venue: 'alpaca' })).toEqual([]);
      expect(results.reduce((sum, { writes }) => sum + writes, 0)).toBeGreaterThan(200);
    },
    limitMs,
  );

  it(
    'gives every order a state again whose stored one is lost, and goes on with all others',
    async () => {
      expect(await failuresOf(range(1, 8), { damaging: true })).toEqual([]);
    },
    limitMs,
  );

  it(
    'does the same again from the same seed, down to the last byte',
    async () => {
      const first = await runSeeds(range(1, 3));
      expect(await runSeeds(range(1, 3))).toEqual(first);
      expect(new Set(first.map(({ digest }) => digest)).size).toBe(3);
    },
    limitMs,
  );
});
