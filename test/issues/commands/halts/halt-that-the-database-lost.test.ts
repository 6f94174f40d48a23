// What a user saw: A halt that was answered as done ended by itself when the database lost its last commits.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../../src/observability/metrics.ts';
import { seededRandom } from '../../../../src/sandbox/seeded-random.ts';
import { Halts } from '../../../../src/service/commands/halts.ts';
import { fence, service } from '../../../support/commands/journal-fixtures.ts';
import { rigJournal } from '../../../support/commands/rig-journal.ts';
import { silentLog } from '../../../support/runs/silent-log.ts';
import { VirtualClock } from '../../../support/runs/virtual-clock.ts';

const word = { by: 'desk', reason: 'kill switch', requestId: 'r-1' };

async function twoProcesses() {
  const journal = rigJournal(new VirtualClock());
  await journal.takeOver(fence, 0, 0);
  const process = (seed: number) =>
    new Halts({
      ...{ journal, clock: new VirtualClock(), random: seededRandom(seed), log: silentLog },
      metrics: createMetrics().commands,
    });
  return { journal, a: process(1), b: process(2), lose: () => journal.force('delete from halts') };
}

async function look(at: Halts): Promise<void> {
  await at.keepDurable();
  await at.refresh();
}

it('a halt that was answered holds behind a look at a database without it, and is put back', async () => {
  const { journal, a, b, lose } = await twoProcesses();
  const halt = await a.raise(service, 'operator', word);
  await look(b);
  lose();
  for (const halts of [a, b]) await halts.refresh();
  expect(
    [a, b].map((halts) => halts.blocking('acct-1')),
    'in every process',
  ).toEqual([halt, halt]);
  await look(a);
  await look(b);
  expect(journal.halts).toEqual([halt]);
  expect([a, b].map((halts) => halts.list())).toEqual([[halt], [halt]]);
});

it('a halt that was resumed elsewhere is not put back', async () => {
  const { journal, a, b } = await twoProcesses();
  await a.raise(service, 'operator', word);
  await look(b);
  await b.clear(service, word, { fence, over: new AbortController().signal });
  await look(a);
  await look(a);
  expect(a.list()).toEqual([]);
  expect(journal.halts).toMatchObject([{ clearedBy: 'desk' }]);
});

it('a halt that was put back by one process, and resumed, is not raised again by one that hears of it late', async () => {
  const { journal, a, b, lose } = await twoProcesses();
  await a.raise(service, 'operator', word);
  await look(b);
  lose();
  await b.refresh();
  await look(a);
  await look(a);
  await a.clear(service, word, { fence, over: new AbortController().signal });
  await look(b);
  expect(b.list()).toEqual([]);
  expect(journal.halts).toMatchObject([{ clearedBy: 'desk' }]);
});

it('a person who halts again what was written unseen, and resumed, is given a halt that holds', async () => {
  const { journal, a, b } = await twoProcesses();
  journal.hook = async (operation, transact) => {
    const result = await transact();
    if (operation === 'raiseHalt') throw new Error('the answer was lost');
    return result;
  };
  await expect(a.raise(service, 'operator', word)).rejects.toThrow('lost');
  journal.hook = async (_, transact) => transact();
  await look(b);
  await b.clear(service, word, { fence, over: new AbortController().signal });
  const again = await a.raise(service, 'operator', word);
  expect(again.clearedAtMs).toBeUndefined();
  expect(a.list()).toEqual([again]);
  expect(await journal.activeHalts()).toEqual([again]);
});
