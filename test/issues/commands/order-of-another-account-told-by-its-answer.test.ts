// What a user saw: A caller could find out which order ids other accounts have, by trying to cancel them.

import { expect, it } from 'vitest';
import {
  CommandRig,
  cancelWorking,
  failedLook,
  replaceWorking,
  workingOrder,
} from '../../support/commands/command-rig.ts';

const foreign = '0b8f6c1e-3f5e-4a55-9d0a-7c1b2f3a4d5e';
const missing = '5d4a3f2b-1c7a-4a0d-955a-4a5e3f1e6c0b';
const away = failedLook('away');

// A known order of another account was answered 404 at once, and a
// random id otherwise: ids could be tried.
it.each([
  ['shows neither', undefined],
  ['can not be read', away],
])(
  'an order of another account is answered like one that does not exist while the platform %s',
  async (_what, answer) => {
    const rig = await CommandRig.leading();
    if (answer !== undefined) rig.probes.answer = () => answer;
    rig.commit({ ...workingOrder, orderId: foreign, accountId: 'acct-2' });
    for (const request of [cancelWorking, replaceWorking])
      for (const over of [{}, { ifRevision: 1 }]) {
        const told = [];
        for (const orderId of [foreign, missing]) {
          const readBefore = rig.probes.asked.length;
          const beganMs = rig.clock.monotonicMs();
          const result = await rig.submit({ ...request, orderId }, over);
          told.push([result, rig.probes.asked.length - readBefore, rig.clock.monotonicMs() - beganMs]);
        }
        expect(told[0]).toEqual(told[1]);
        expect(told[0]?.[0]).toMatchObject({ kind: 'declined' });
      }
    expect(rig.entry.sent).toEqual([]);
  },
);
