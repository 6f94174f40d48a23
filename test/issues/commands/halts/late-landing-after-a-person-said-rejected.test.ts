// What a user saw: An order landed after a person had settled it as rejected; the halt came six minutes late.

import { describe, expect, it } from 'vitest';
import { recomputeVerdict } from '../../../../src/domain/recompute-verdict.ts';
import { CommandRig, placeEquity, unknown, word } from '../../../support/commands/command-rig.ts';

const rejected = { kind: 'rejected', reason: { code: 'NO', message: 'no' }, answer: {} } as const;

async function cameToNothing(
  how: 'not_sent' | 'rejected' | 'moot' | 'answered',
): Promise<{ rig: CommandRig; commandId: string }> {
  const rig = await CommandRig.leading();
  rig.entry.scripts.push({ result: how === 'answered' ? rejected : unknown });
  const { commandId } = await rig.send(placeEquity);
  if (how !== 'answered') await rig.during(rig.commands.operator.settle(commandId, how, word));
  await rig.clock.advance(60_000);
  return { rig, commandId };
}

// After a person's `rejected` it took the sweep six minutes: pending_new was let pass, and the next
// view was not judged again.
describe('an order that lands after its place came to nothing', () => {
  it.each(['not_sent', 'rejected', 'moot'] as const)(
    'is halted and alarmed at its first view, behind a person’s %s',
    async (how) => {
      const { rig, commandId } = await cameToNothing(how);
      rig.land(commandId, { status: 'pending_new' });
      await rig.clock.advance(10);
      expect(rig.commands.operator.halts.list()).toMatchObject([
        { cause: 'late_landing', scope: { accountId: 'acct-1' } },
      ]);
      expect(rig.command(commandId)).toMatchObject({ state: 'accepted', orderId: `of-${commandId}` });

      rig.commit(rig.landed(commandId, { status: 'new' }));
      await rig.clock.advance(10);
      expect(rig.state(commandId)).toBe('applied');
      const updates = rig.orders.updatesAfter('account', `of-${commandId}`, 0, 100);
      expect(recomputeVerdict(rig.command(commandId), rig.evidence(commandId), updates).agrees).toBe(true);
    },
  );

  it('is let pass while nobody has taken it where the platform answered that it is rejected, and told by the view after that', async () => {
    const { rig, commandId } = await cameToNothing('answered');
    rig.land(commandId, { status: 'pending_new' });
    await rig.clock.advance(10);
    expect(rig.commands.operator.halts.list()).toEqual([]);
    rig.commit(rig.landed(commandId, { status: 'new' }));
    await rig.clock.advance(10);
    expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'late_landing' }]);
    expect(rig.state(commandId)).toBe('applied');
  });

  it('is told also where the venue refused the order first, and then fills it', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: unknown });
    const { commandId } = await rig.send(placeEquity);
    rig.land(commandId, { status: 'rejected' });
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('rejected');
    rig.commit(rig.landed(commandId, { status: 'filled', cumQty: '10', leavesQty: '0' }));
    await rig.clock.advance(10);
    expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'late_landing' }]);
    expect(rig.state(commandId)).toBe('applied');
  });

  it.each(['handed over', 'found in the log'] as const)(
    'is followed until the venue has decided, also by the next holder (%s)',
    async (how) => {
      const { rig, commandId } = await cameToNothing('rejected');
      rig.commands.endAll();
      await rig.clock.advance(3_600_000);
      const next = await CommandRig.leading({}, rig);
      next.commit(rig.landed(commandId, { status: 'pending_new' }), { commandId, handed: how === 'handed over' });
      await next.clock.advance(600_000);
      expect(next.commands.operator.halts.list()).toMatchObject([{ cause: 'late_landing' }]);
      next.commit(rig.landed(commandId, { status: 'rejected' }));
      await next.clock.advance(10);
      expect(rig.state(commandId)).toBe('rejected');
    },
  );
});
