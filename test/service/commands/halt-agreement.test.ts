import { expect, it } from 'vitest';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { HaltAgreement } from '../../../src/service/commands/halt-agreement.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const options = { leaseExpireMs: 6_000, haltAnswerMs: 3_000, journalBackoff: { firstMs: 100, maxMs: 1_000 } };

/**
 * Processes beside this one, by the time at which each says that it holds the
 * halt; the database answers, or does not.
 */
function agreement(others: Readonly<Record<string, number>>) {
  const clock = new VirtualClock();
  const said: (readonly string[])[] = [];
  const database = { away: false };
  const ask = () => {
    if (database.away) throw new Error('no database');
  };
  const made = new HaltAgreement(
    {
      ...{ clock, random: seededRandom(1), log: silentLog, lease: { lane: 2, epoch: 7n } },
      halts: {
        list: () => [
          { haltId: 'h-1', scope: { kind: 'service' }, cause: 'operator', reason: 'x', by: 'ann', sinceMs: 0 },
        ],
        ...{ lacksOne: false, keepDurable: async () => {}, refresh: async () => {} },
      },
      journal: {
        holdHalts: async (_lane, _epoch, haltIds) => {
          ask();
          said.push(haltIds);
          return true;
        },
        withoutHalt: async () => {
          ask();
          return Object.entries(others).flatMap(([name, atMs]) => (clock.monotonicMs() < atMs ? [name] : []));
        },
      },
    },
    options,
  );
  return { clock, said, database, made };
}

const never = Number.POSITIVE_INFINITY;

/** What there is, when the answer comes, and whom it names. */
type Case = readonly [string, Readonly<Record<string, number>>, number, readonly string[]];

const cases: readonly Case[] = [
  ['no other process', {}, 0, []],
  ['one that answers late', { b: 1_000 }, 1_000, []],
  ['one that is silent beside one that answers', { b: 1_000, c: never }, 3_000, ['c']],
];

it.each(cases)('with %s', async (_, others, afterMs, lacking) => {
  const { clock, made, said } = agreement(others);
  const answer = made.awaitHeld('h-1');
  await clock.advance(Math.max(0, afterMs - 1));
  const early = await Promise.race([answer, Promise.resolve('waits')]);
  expect(early).toEqual(afterMs === 0 ? lacking : 'waits');
  await clock.advance(51);
  expect(await answer).toEqual(lacking);
  expect(said, 'once').toEqual([['h-1']]);
});

it('asks again where the database does not answer, and rejects after the bound: nobody knows who lacks the halt', async () => {
  const { clock, made, database } = agreement({});
  database.away = true;
  const answer = made.awaitHeld('h-1');
  await clock.advance(1_000);
  database.away = false;
  await clock.advance(51);
  expect(await answer).toEqual([]);
  database.away = true;
  const unknown = made.awaitHeld('h-1').catch(String);
  await clock.advance(2_900);
  expect(await Promise.race([unknown, Promise.resolve('waits')])).toBe('waits');
  await clock.advance(200);
  expect(await unknown).toContain('no database');
});
