// What a user saw: Updates went out in a term in which Kafka had not been asked for the newest ones.

import { expect, it } from 'vitest';
import { LossCheck } from '../../../src/service/fleet/loss-check.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

function checkWith(...answers: readonly (() => Promise<undefined>)[]) {
  const rest = [...answers];
  const look = () => rest.shift()?.() ?? Promise.reject(new Error('asked once more'));
  const inert = { holdBack: async () => undefined, onLoss: () => {}, clock: new VirtualClock(), log: silentLog };
  return new LossCheck({ lease: lane(0), look, ...inert });
}

const lane = (lane: number) => ({ lane, epoch: 1n });
const well = async () => undefined;
const away = () => Promise.reject(new Error('no broker answers'));

it('an answer for the lane of another process says nothing of the own one', async () => {
  const check = checkWith(well, away, well);
  await check.begin();
  await expect(check.ask(lane(1))).rejects.toThrow('Kafka could not be asked');
  expect([check.mayPublish, check.failingForMs]).toEqual([true, undefined]);
  check.end();
  await check.ask(lane(1));
  expect(check.mayPublish).toBe(false);
});

// It counted as Kafka's answer in the next term, which then published
// although Kafka could not be asked in it.
it('an answer that comes after its term says nothing of the next one', async () => {
  const late = Promise.withResolvers<undefined>();
  const check = checkWith(() => late.promise, away);
  const begun = check.begin();
  check.end();
  await check.begin();
  late.resolve(undefined);
  await begun;
  expect([check.mayPublish, check.failingForMs]).toEqual([false, 0]);
  check.end();
});
