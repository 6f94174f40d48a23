import { expect, it } from 'vitest';
import type { ProbeResult } from '../../src/commands/account-probes.ts';
import { CommandRig, cancelWorking, replaceWorking, workingOrder } from '../support/command-rig.ts';

const away: ProbeResult = { kind: 'failed', reason: { code: 'HTTP_503', message: 'away' } };

// A known order of another account was answered 404 at once, and a random id otherwise: ids could be tried.
it.each([
  ['shows neither', undefined],
  ['can not be read', away],
])('an order of another account is answered like one that does not exist while the platform %s', async (_what, answer) => {
  const rig = await CommandRig.leading();
  if (answer !== undefined) rig.probes.answer = () => answer;
  rig.commit({ ...workingOrder, orderId: 'foreign', accountId: 'acct-2' });
  for (const request of [cancelWorking, replaceWorking])
    for (const over of [{}, { ifRevision: 1 }]) {
      const told = [];
      for (const orderId of ['foreign', 'missing']) {
        const readBefore = rig.probes.asked.length;
        const beganMs = rig.clock.monotonicMs();
        const result = await rig.submit({ ...request, orderId }, over);
        told.push([result, rig.probes.asked.length - readBefore, rig.clock.monotonicMs() - beganMs]);
      }
      expect(told[0]).toEqual(told[1]);
      expect(told[0]?.[0]).toMatchObject({ kind: 'declined' });
    }
  expect(rig.entry.sent).toEqual([]);
});
