// What a user saw: A replace that was given up as lost was shown as rejected, and then it took effect.

import { expect, it } from 'vitest';
import { CommandRig, replaceWorking, unknown, workingOrder } from '../../support/commands/command-rig.ts';

const replace = (price: string) => ({ ...replaceWorking, terms: { price } });
const accepted = { kind: 'accepted', answer: { status: 202, version: '20' } } as const;

// The order shows one replace at a time, and the one that superseded the other is what it shows.
it.each([false, true])('a replace that another one superseded is not settled by it, taken over: %s', async (moves) => {
  let rig = await CommandRig.leading();
  rig.commit(workingOrder);
  rig.entry.scripts.push({ result: unknown }, { result: accepted });
  const { commandId: lost } = await rig.send(replace('0.5'));
  await rig.clock.advance(20 * 60_000);
  expect(rig.command(lost)).toMatchObject({ state: 'unknown', presumedAbsent: true });
  const { commandId: next } = await rig.send(replace('0.45'), { supersedes: lost });
  if (moves) {
    rig.commands.endAll();
    rig = await CommandRig.leading({}, rig);
  }
  rig.commit({ ...workingOrder, pendingAction: 'replace' });
  rig.commit({ ...workingOrder, rejectText: 'outside the band' });
  await rig.clock.advance(1_000);
  expect([rig.state(lost), rig.state(next)]).toEqual(['unknown', 'rejected']);
  // It was on its way all the time.
  rig.commit({ ...workingOrder, working: { ...workingOrder.working, price: '0.5' } });
  await rig.clock.advance(1_000);
  expect(rig.state(lost)).toBe('applied');
});
