// What a user saw: A thousand requests of one principal made it impossible to approve those of others.

import { expect, it } from 'vitest';
import { mostWaiting } from '../../../../src/store/commands/stops-journal.ts';
import { CommandRig, word } from '../../../support/commands/command-rig.ts';
import { accountScope } from '../../../support/commands/journal-fixtures.ts';

const flooding = { ...word, by: 'other', ofSomeAccounts: true } as const;
const second = { ...word, by: 'bob', reason: 'agreed' };

it('the requests of one principal, equal or not, stand in the way of no other', async () => {
  const rig = await CommandRig.leading({ fourEyes: true });
  const resume = (accountId: string, by: typeof flooding | typeof word) =>
    rig.during(rig.commands.operator.resume(accountScope(accountId), by));
  const ids = new Set<string>();
  for (let at = 0; at < 25; at += 1) {
    const result = await resume('acct-2', flooding);
    if (result.kind === 'requested') ids.add(result.approval.approvalId);
  }
  expect(ids.size).toBe(1);
  for (let at = 1; at < mostWaiting; at += 1)
    expect(await resume(`acct-${at}-more`, flooding)).toMatchObject({ kind: 'requested' });
  expect(await resume('acct-3', flooding)).toMatchObject({ kind: 'declined', code: 'TOO_MANY_APPROVALS' });
  expect(await resume('acct-2', flooding)).toMatchObject({ kind: 'requested' });

  const asked = await resume('acct-1', word);
  if (asked.kind !== 'requested') throw new Error('the request was refused');
  const { approvalId } = asked.approval;
  expect(await rig.during(rig.commands.operator.approvals.find(approvalId))).toMatchObject({
    approvals: [{ approvalId }],
  });
  expect(await rig.during(rig.commands.operator.approve(approvalId, second))).toMatchObject({ kind: 'done' });
  expect(await rig.during(rig.commands.operator.approvals.list())).toMatchObject({
    approvals: { length: mostWaiting },
  });
});
