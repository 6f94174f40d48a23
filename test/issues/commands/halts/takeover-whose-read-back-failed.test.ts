// What a user saw: An account full of unknown commands was not halted after a takeover that failed once.

import { expect, it } from 'vitest';
import { CommandRig, placeEquity } from '../../../support/commands/command-rig.ts';
import type { JournalOperation } from '../../../support/commands/memory-journal.ts';

const haltAt = { account: 2, service: 100 };

/** Two places whose holder is gone while they are sent. */
async function leftInFlight() {
  const gone = await CommandRig.leading({ haltAt });
  gone.entry.route = () => ({ answerMs: 1e9, result: { kind: 'accepted', answer: { status: 202 } } });
  for (const qty of ['1', '2'])
    void gone.commands.submit(gone.submission({ ...placeEquity, terms: { ...placeEquity.terms, qty } }));
  await gone.clock.advance(100);
  expect(gone.entry.sent).toHaveLength(2);
  return new CommandRig({ haltAt }, gone);
}

/**
 * The sweep is committed, and then a read fails: that of what was swept, or that of the halts. The
 * shard's next try finds nothing to sweep any more.
 */
it.each<JournalOperation>(['takeOver', 'activeHalts'])(
  'what an earlier try of the same takeover has swept counts where %s failed behind it',
  async (failing) => {
    const rig = await leftInFlight();
    const { hook } = rig.journal;
    for (const delayMs of [500, 3_000]) {
      rig.journal.hook = async (operation, transact) => {
        const result = await hook(operation, transact);
        if (operation === failing) throw new Error('the answer was lost');
        return result;
      };
      await expect(rig.begin(2n)).rejects.toThrow('lost');
      await rig.clock.advance(delayMs);
    }
    rig.journal.hook = hook;
    await rig.begin(2n);
    await rig.clock.advance(100);
    expect(rig.journal.halts).toMatchObject([{ cause: 'unresolved', scope: { kind: 'account' } }]);
    expect(rig.commands.operator.halts.list()).toHaveLength(1);
  },
);

it('a takeover behind one that has succeeded halts nothing again that a person let place', async () => {
  const rig = await leftInFlight();
  await rig.begin(2n);
  await rig.clock.advance(100);
  await rig.during(
    rig.commands.operator.resume(
      { kind: 'account', accountId: 'acct-1' },
      { by: 'ann', reason: 'looked', requestId: 'r' },
    ),
  );
  await rig.clock.advance(1_000);
  await rig.begin(2n);
  await rig.clock.advance(100);
  expect(rig.commands.operator.halts.list()).toEqual([]);
});
