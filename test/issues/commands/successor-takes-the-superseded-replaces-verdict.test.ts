// What a user saw: A replace was rejected by the answer to the one before it, and then took effect.

import { expect, it } from 'vitest';
import { CommandRig, replaceWorking, unknown, workingOrder } from '../../support/commands/command-rig.ts';

const replace = (price: string) => ({ ...replaceWorking, terms: { price } });

// Both answers were lost, so the pending replace that the order shows may be either.
it.each([
  ['the old terms', workingOrder, false],
  ['the old terms', workingOrder, true],
  ['the terms of that one', { ...workingOrder, working: { ...workingOrder.working, price: '0.5' } }, false],
] as const)(
  'a replace is not settled by %s after the one that it supersedes (taken over: %#)',
  async (_, late, moves) => {
    let rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.entry.scripts.push({ result: unknown }, { result: unknown });
    const { commandId: before } = await rig.send(replace('0.5'));
    await rig.clock.advance(20 * 60_000);
    const { commandId: next } = await rig.send(replace('0.45'), { supersedes: before });
    if (moves) {
      rig.commands.endAll();
      rig = await CommandRig.leading({}, rig);
    }
    rig.commit({ ...workingOrder, pendingAction: 'replace' }, { handed: false });
    rig.commit(late, { handed: false });
    await rig.clock.advance(1_000);
    expect(rig.state(next)).toBe('unknown');
    rig.commit({ ...workingOrder, working: { ...workingOrder.working, price: '0.45' } });
    await rig.clock.advance(1_000);
    expect(rig.state(next)).toBe('applied');
  },
);
