// What a user saw: An order went live long after its place had failed, and no halt and no alarm came.

import { describe, expect, it } from 'vitest';
import { CommandRig, placeEquity, refused, unknown, word } from '../../support/commands/command-rig.ts';

const hour = 3_600_000;

/** A place that came to nothing, and the process that knew of it is gone. */
async function settledLongAgo(how: 'refused' | 'person'): Promise<{ rig: CommandRig; commandId: string }> {
  const rig = await CommandRig.leading();
  rig.entry.scripts.push({ result: how === 'refused' ? refused(400) : unknown });
  const { commandId } = await rig.send(placeEquity);
  if (how === 'person') await rig.during(rig.commands.operator.settle(commandId, 'rejected', word));
  rig.commands.endAll();
  await rig.clock.advance(5 * hour);
  return { rig, commandId };
}

// An order was bound by a process that ended before it had judged
// it; the next one looked two minutes back.
describe('an order of a place that came to nothing long ago', () => {
  it.each(['refused', 'person'] as const)('is found by whoever takes the lane (%s)', async (how) => {
    const { rig, commandId } = await settledLongAgo(how);
    rig.commit(rig.landed(commandId), { commandId, handed: false });
    const next = await CommandRig.leading({}, rig);
    await next.clock.advance(1_000);
    expect(rig.command(commandId)).toMatchObject({ state: 'applied', orderId: `of-${commandId}` });
    expect(next.commands.operator.halts.list()).toMatchObject([
      { cause: 'late_landing', scope: { accountId: 'acct-1' } },
    ]);
  });

  it('is found by the sweep where it was bound unheard later, also while the journal fails', async () => {
    const { rig, commandId } = await settledLongAgo('refused');
    const next = await CommandRig.leading({ recentMs: 0 }, rig);
    await next.clock.advance(1_000);
    rig.commit(rig.landed(commandId), { commandId, handed: false });
    let failures = 3;
    rig.journal.hook = async (operation, transact) => {
      if (operation === 'landings' && failures-- > 0) throw new Error('the database cannot be reached');
      return transact();
    };
    await next.clock.advance(hour);
    expect(rig.state(commandId)).toBe('applied');
    expect(next.commands.operator.halts.list()).toMatchObject([{ cause: 'late_landing' }]);
  });

  it('that agrees with the outcome is no landing', async () => {
    const { rig, commandId } = await settledLongAgo('person');
    rig.commit(rig.landed(commandId, { status: 'rejected', statusRaw: 'REJECTED', leavesQty: '0' }), {
      commandId,
      handed: false,
    });
    const next = await CommandRig.leading({}, rig);
    await next.clock.advance(2 * hour);
    expect(rig.state(commandId)).toBe('rejected');
    expect(next.commands.operator.halts.list()).toEqual([]);
  });

  it('is looked for by nobody whose term is over', async () => {
    const { rig } = await settledLongAgo('refused');
    let looks = 0;
    rig.journal.hook = async (operation, transact) => {
      if (operation === 'landings') looks += 1;
      return transact();
    };
    const next = await CommandRig.leading({}, rig);
    await next.clock.advance(1_000);
    expect(looks).toBe(1);
    next.commands.endAll();
    await next.clock.advance(5 * hour);
    expect(looks).toBe(1);
  });
});
