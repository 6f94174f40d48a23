// What a user saw: A simulated account was told LIMITS_REQUIRED, which only a real account needs.

import { describe, expect, it } from 'vitest';
import {
  CommandRig,
  cancelWorking,
  placeEquity,
  replaceWorking,
  workingOrder,
} from '../../support/commands/command-rig.ts';

/** The account is given away between the checks of a command and its judgement. */
async function leftMeanwhile(options: ConstructorParameters<typeof CommandRig>[0] = {}) {
  const rig = await CommandRig.leading(options);
  rig.commit(workingOrder);
  const leave = () => {
    rig.probes.now = { ...rig.probes.now, known: false };
  };
  rig.journal.hook = async (operation, transact) => {
    const result = await transact();
    if (operation === 'readOrder') leave();
    return result;
  };
  return { rig, leave };
}

describe('an account that leaves its process', () => {
  it.each([[[]], [['acct-1']]])(
    'while the order of a replace is read: the refusal is that of an account which is not here (%j may be traded)',
    async (accounts) => {
      const { rig } = await leftMeanwhile({ accounts });
      expect(await rig.declined(replaceWorking)).toBe('ACCOUNT_NOT_FOUND');
      expect(rig.journal.commands.size).toBe(0);
    },
  );

  it('gives the budget back what a replace took that was never judged', async () => {
    const { rig } = await leftMeanwhile({ rate: { perSecond: 0.001, burst: 1 } } as never);
    expect(await rig.declined(replaceWorking)).toBe('ACCOUNT_NOT_FOUND');
    rig.journal.hook = async (_operation, transact) => transact();
    rig.probes.now = { ...rig.probes.now, known: true };
    expect((await rig.send(replaceWorking)).state).toBe('accepted');
  });

  it('while a quote is read: the preview says the same', async () => {
    const { rig, leave } = await leftMeanwhile();
    rig.quotes.lastQuote = async () => {
      leave();
      return undefined;
    };
    const preview = await rig.during(rig.commands.preview({ request: placeEquity, principal: 'desk', requestId: 'r' }));
    expect(preview).toMatchObject({ kind: 'declined', code: 'ACCOUNT_NOT_FOUND' });
  });

  it('has its cancels wait where it was named as one that may be traded: no login can send one', async () => {
    const { rig } = await leftMeanwhile({ accounts: ['acct-1'] });
    expect(await rig.declined(cancelWorking)).toBe('SOURCE_NOT_LIVE');
    rig.journal.hook = async (_operation, transact) => transact();
    rig.probes.now = { ...rig.probes.now, known: true };
    expect((await rig.send(cancelWorking)).state).toBe('accepted');
  });
});
