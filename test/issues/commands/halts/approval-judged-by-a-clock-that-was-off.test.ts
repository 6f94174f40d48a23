// What a user saw: An expired request was approved at one instance, and another refused a fresh one.

import { describe, expect, it } from 'vitest';
import { CommandRig, word } from '../../../support/commands/command-rig.ts';
import { accountScope } from '../../../support/commands/journal-fixtures.ts';

const account = accountScope('acct-1');
const second = { ...word, by: 'bob', reason: 'agreed' };
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Halted, and asked to be resumed within the hour, by a process whose clock is `ahead`. */
async function asked(asking: number) {
  const ahead = { ms: asking };
  const rig = await CommandRig.leading({ fourEyes: true, ahead });
  const { operator } = rig.commands;
  await rig.during(operator.halt(account, word));
  const result = await rig.during(operator.resume(account, word));
  if (result.kind !== 'requested') throw new Error(`no second principal is asked for: ${result.kind}`);
  const { approvalId } = result.approval;
  return {
    /** Later, by a process that is so far ahead: how many wait, what an approval comes to. */
    async approve(afterMs: number, approving: number) {
      await rig.clock.advance(afterMs);
      ahead.ms = approving;
      const list = await rig.during(operator.approvals.list());
      const waiting = list.kind === 'done' ? list.approvals.length : list.code;
      const result = await rig.during(operator.approve(approvalId, second));
      return { waiting, result: result.kind === 'declined' ? result.code : result.kind };
    },
  };
}

const offs = [-24 * hourMs, -hourMs, 0, hourMs, 24 * hourMs];
const pairs = offs.flatMap((asking) => offs.map((approving) => [asking / hourMs, approving / hourMs] as const));

describe('a request, asked for by a clock so far ahead, and approved by another', () => {
  it.each(pairs)('%i h and %i h: it waits until its hour is over', async (asking, approving) => {
    const request = await asked(asking * hourMs);
    expect(await request.approve(59 * minuteMs, approving * hourMs)).toEqual({ waiting: 1, result: 'done' });
  });

  it.each(pairs)('%i h and %i h: it has ended when its hour is over', async (asking, approving) => {
    const request = await asked(asking * hourMs);
    expect(await request.approve(61 * minuteMs, approving * hourMs)).toEqual({
      waiting: 0,
      result: 'APPROVAL_NOT_FOUND',
    });
  });
});
