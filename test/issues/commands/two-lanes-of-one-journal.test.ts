// What a user saw: A halt of the whole service stopped one lane, and the other lane went on placing.

import { afterEach, expect, it } from 'vitest';
import { CommandRig, placeEquity, unknown, word } from '../../support/commands/command-rig.ts';

const service = { kind: 'service' } as const;
const started: CommandRig[] = [];
afterEach(async () => {
  for (const rig of started.splice(0)) await rig.commands.drain(new AbortController().signal);
});

/** Two processes, each the holder of its lane. */
async function twoLanes() {
  const zero = await CommandRig.leading({ shards: [0] });
  const one = await CommandRig.leading({ shards: [1] }, zero);
  for (const rig of [zero, one]) {
    await rig.commands.start();
    started.push(rig);
  }
  return { zero, one, pass: (ms: number) => zero.clock.advance(ms) };
}

it('a halt of the service that one holder is given holds in the other lane within five seconds, and so does its end', async () => {
  const { zero, one, pass } = await twoLanes();
  await zero.during(zero.commands.operator.halt(service, word));
  await pass(5_000);
  expect(await one.declined(placeEquity)).toBe('PLACING_HALTED');
  await zero.during(zero.commands.operator.resume(service, word));
  await pass(5_000);
  expect((await one.send(placeEquity)).state).toBe('accepted');
});

it('a halt that the journal could not be told yet is kept', async () => {
  const { zero, one, pass } = await twoLanes();
  zero.journal.hook = async (operation, transact) => {
    if (operation === 'raiseHalt') throw new Error('no database');
    return transact();
  };
  expect(await one.during(one.commands.operator.halt(service, word))).toMatchObject({ code: 'STORE_UNAVAILABLE' });
  await pass(30_000);
  expect(await one.declined(placeEquity)).toBe('PLACING_HALTED');
  expect((await zero.send(placeEquity)).state).toBe('accepted');
});

it('a look at the halts that a write overtook changes nothing', async () => {
  const { zero, pass } = await twoLanes();
  const asked = Promise.withResolvers<void>();
  const late = Promise.withResolvers<void>();
  zero.journal.hook = async (operation, transact) => {
    const result = await transact();
    if (operation === 'activeHalts') {
      asked.resolve();
      await late.promise;
    }
    return result;
  };
  await pass(5_000);
  await asked.promise;
  await zero.during(zero.commands.operator.halt(service, word));
  late.resolve();
  await pass(100);
  expect(await zero.declined(placeEquity)).toBe('PLACING_HALTED');
});

it("a holder that looks through the journal leaves the other lane's unresolved commands to it", async () => {
  const { zero, one, pass } = await twoLanes();
  one.entry.scripts.push({ result: unknown });
  const { commandId } = await one.send({ ...placeEquity, accountId: 'acct-2' } as unknown as typeof placeEquity);
  zero.journal.hook = async (operation, transact) => {
    if (operation === 'open') throw new Error('no answer');
    return transact();
  };
  expect(await zero.declined(placeEquity), 'it may be in the journal: the holder looks').toBe('STORE_UNAVAILABLE');
  await pass(60_000);
  expect(one.state(commandId)).toBe('unknown');
  expect([zero.commands.status().unresolved, one.commands.status().unresolved]).toEqual([0, 1]);
  expect(zero.probes.asked.filter(({ accountId }) => accountId === 'acct-2')).toEqual([]);
});

it('who settles a command at the holder of another lane is told whom to ask', async () => {
  const { zero, one } = await twoLanes();
  one.entry.scripts.push({ result: unknown });
  const { commandId } = await one.send(placeEquity);
  expect(await zero.during(zero.commands.operator.settle(commandId, 'moot', word))).toMatchObject({
    code: 'NOT_LEADER',
  });
  expect(await one.during(one.commands.operator.settle(commandId, 'moot', word))).toMatchObject({ kind: 'done' });
});
