// What a user saw: With many unresolved commands, some were never looked up, and new places got RATE_LIMITED.

import { expect, it } from 'vitest';
import type { CommandOptions } from '../../../src/service/commands/command-options.ts';
import { CommandRig, placeEquity, unknown } from '../../support/commands/command-rig.ts';

const minute = 60_000;
const many = 7;

async function moreThanFit(over: Partial<CommandOptions> = {}, shards = [0]): Promise<CommandRig> {
  const shardOf = (accountId: string) => Number(accountId.at(-1)) % shards.length;
  const rig = await CommandRig.leading({ shards, shardOf, haltAt: { account: 100, service: 100 } });
  for (let i = 0; i < many; i += 1) {
    rig.entry.scripts.push({ result: unknown });
    await rig.send({ ...placeEquity, accountId: `acct-${i}` } as unknown as typeof placeEquity);
  }
  rig.commands.endAll();
  return CommandRig.leading({ shards, shardOf, maxWatched: 2, haltAt: { account: 100, service: 100 }, ...over }, rig);
}

// The oldest that fitted were followed, and were never settled:
// those behind them were never asked about.
it.each([
  ['of one shard', [0]],
  ['of three', [0, 1, 2]],
])(
  'more unresolved commands than fit are followed in turn, each until it can be presumed absent, and none is forgotten: %s',
  async (_, shards) => {
    const rig = await moreThanFit({ sweepEveryMs: 5 * minute }, shards);
    expect(await rig.declined(placeEquity)).toBe('RATE_LIMITED');
    await rig.clock.advance(10 * minute);
    expect(new Set(rig.probes.asked.map(({ accountId }) => accountId)).size).toBe(2);
    await rig.clock.advance(24 * 60 * minute);
    const commands = [...rig.journal.commands.values()];
    expect(commands.map(({ state, presumedAbsent }) => [state, presumedAbsent])).toEqual(
      Array(many).fill(['unknown', true]),
    );
    rig.probes.asked.length = 0;
    await rig.clock.advance(24 * 60 * minute);
    expect(new Set(rig.probes.asked.map(({ accountId }) => accountId)).size).toBe(many);
    expect(await rig.declined(placeEquity)).toBe('RATE_LIMITED');
  },
);

it('an order of one that waits is heard, and room for all lets places pass again', async () => {
  const rig = await moreThanFit();
  await rig.clock.advance(1_000);
  for (const id of [...rig.journal.commands.keys()].toReversed())
    rig.land(id, { accountId: rig.command(id).request.accountId });
  await rig.clock.advance(minute);
  expect([...rig.journal.commands.values()].map(({ state }) => state)).toEqual(Array(many).fill('applied'));
  expect((await rig.send(placeEquity)).state).toBe('accepted');
});
