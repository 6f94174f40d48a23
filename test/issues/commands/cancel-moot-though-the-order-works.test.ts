// What a user saw: A cancel ended as moot, and the read that it went by had shown the order working.

import { expect, it } from 'vitest';
import { CommandRig, cancelWorking, workingOrder } from '../../support/commands/command-rig.ts';

const ended = { ...workingOrder, accountId: 'acct-1', status: 'canceled' } as const;
const refusedBy = (status: number) => ({
  result: { kind: 'refused', reason: { code: 'NO', message: 'no', status } } as const,
});

/** An order that we hold as ended; reads show it as the platform's `status` says. */
async function rigOf(works: boolean) {
  const rig = await CommandRig.leading();
  rig.commit(ended);
  rig.probes.answer = ({ kind }) => {
    if (kind === 'reference') return rig.probes.complete();
    const look = rig.probes.complete('order-1');
    return look.complete && works ? { ...look, working: ['order-1'] } : look;
  };
  return rig;
}

const stateOf = (rig: CommandRig) => [...rig.journal.commands.values()].map(({ state }) => state);

it.each([
  [true, 'refused'],
  [false, 'moot'],
])('after a refusal, by one look at the order (it works: %s)', async (works, state) => {
  const rig = await rigOf(works);
  rig.entry.scripts.push(refusedBy(409));
  await rig.during(rig.submit(cancelWorking));
  await rig.clock.advance(60_000);
  expect(stateOf(rig)).toEqual([state]);
});

it.each([
  [true, 'unknown'],
  [false, 'moot'],
])('without an answer, by the reads that follow (it works: %s)', async (works, state) => {
  const rig = await rigOf(works);
  rig.entry.scripts.push({ result: { kind: 'unknown', reason: { code: 'HTTP_504', message: 'no', status: 504 } } });
  await rig.during(rig.submit(cancelWorking));
  await rig.clock.advance(60_000);
  expect(stateOf(rig)).toEqual([state]);
});

it.each([
  [404, true, false],
  [409, true, true],
  [409, false, false],
  [403, true, true],
])(
  'a cancel-all whose cancel is refused by %i (it works: %s) says that it may be open: %s',
  async (status, works, open) => {
    const rig = await rigOf(works);
    // The reads of both streams show it.
    rig.commit({ ...ended, stream: 'account' });
    rig.entry.route = () => refusedBy(status);
    const asked = rig.commands.cancelAll(
      { kind: 'account', accountId: 'acct-1' },
      { by: 'desk', reason: 'stop', requestId: 'r', idempotencyKey: 'all' },
    );
    const result = await rig.during(asked);
    expect(result.kind === 'done' && [result.orders.length, result.open]).toEqual([2, open]);
  },
);
