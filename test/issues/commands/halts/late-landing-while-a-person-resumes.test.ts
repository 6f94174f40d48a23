// What a user saw: A new halt of an account was lost because a person was clearing its old halt just then.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../../src/observability/metrics.ts';
import { seededRandom } from '../../../../src/sandbox/seeded-random.ts';
import { Halts } from '../../../../src/service/commands/halts.ts';
import { service } from '../../../support/commands/journal-fixtures.ts';
import { rigJournal } from '../../../support/commands/rig-journal.ts';
import { silentLog } from '../../../support/runs/silent-log.ts';
import { VirtualClock } from '../../../support/runs/virtual-clock.ts';

const account = { kind: 'account', accountId: 'A' } as const;
const word = { by: 'olga', reason: 'the late order is cancelled', requestId: 'r' };
const again = (order: string) => ({ by: 'desk', reason: `order ${order} landed late` });

/** Halts over a journal whose `clearHalts` waits, before it does anything or after. */
async function rigOf(slow: 'before' | 'after') {
  const clock = new VirtualClock();
  const journal = rigJournal(clock);
  const term = { fence: { shard: 0, epoch: 1n }, over: new AbortController().signal };
  await journal.takeOver(term.fence, 0, 0);
  const deps = { journal, clock, random: seededRandom(1), log: silentLog, metrics: createMetrics().commands };
  const halts = new Halts(deps);
  const gate = Promise.withResolvers<void>();
  journal.hook = async (operation, transact) => {
    if (operation !== 'clearHalts') return transact();
    if (slow === 'before') await gate.promise;
    const result = await transact();
    if (slow === 'after') await gate.promise;
    return result;
  };
  const raise = (order: string) => halts.raise(account, 'operator', again(order));
  const after = new Halts(deps);
  return {
    journal,
    halts,
    raise,
    clear: (scope: typeof account | typeof service = account) => halts.clear(scope, word, term),
    open: () => gate.resolve(),
    fail: () => gate.reject(new Error('away')),
    settle: () => clock.advance(10),
    /** What a process has that reads the journal now. */
    async afterRestart() {
      await after.refresh();
      return after.list();
    },
  };
}

it('a halt raised behind the commit that clears another holds when the answer to that comes', async () => {
  const rig = await rigOf('after');
  await rig.raise('1');
  const cleared = rig.clear();
  await rig.settle();
  expect(await rig.raise('2')).toMatchObject(again('2'));
  rig.open();
  expect(await cleared).toBe('cleared');
  expect(rig.halts.list()).toMatchObject([again('2')]);
  expect(await rig.afterRestart()).toMatchObject([again('2')]);
});

it('one that the journal took before that commit is cleared by it, in memory too', async () => {
  const rig = await rigOf('before');
  const first = rig.raise('1');
  const cleared = rig.clear();
  const second = rig.raise('2');
  rig.open();
  await Promise.all([first, cleared, second]);
  expect(rig.halts.list()).toEqual([]);
  expect(await rig.afterRestart()).toEqual([]);
});

it('a clear that fails leaves one halt, in memory as in the journal', async () => {
  const rig = await rigOf('before');
  const first = await rig.raise('1');
  const cleared = rig.clear();
  const second = rig.raise('2');
  await rig.settle();
  rig.fail();
  await expect(cleared).rejects.toThrow('away');
  expect(await second).toEqual(first);
  expect(rig.halts.list()).toEqual([first]);
  expect(await rig.afterRestart()).toEqual([first]);
});

it('a slow clear of one scope holds up no other', async () => {
  const rig = await rigOf('before');
  const cleared = rig.clear(service);
  expect(await rig.raise('1')).toMatchObject(again('1'));
  rig.open();
  expect(await cleared).toBe('cleared');
  expect(rig.halts.list()).toMatchObject([again('1')]);
});
