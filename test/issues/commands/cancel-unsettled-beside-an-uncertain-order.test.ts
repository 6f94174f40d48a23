// What a user saw: A cancel stayed unknown for as long as another order of its account was uncertain.

import { expect, it } from 'vitest';
import { CommandRig, cancelWorking, unknown, workingOrder } from '../../support/commands/command-rig.ts';

const ended = { ...workingOrder, status: 'canceled', statusRaw: 'canceled', leavesQty: '0' } as const;

/** The cancel of an ended order: its answer is lost, and lists show the row as uncertain. */
async function canceled(uncertain: readonly string[] | undefined): Promise<string> {
  const rig = await CommandRig.leading();
  rig.commit(ended);
  rig.entry.scripts.push({ result: unknown });
  const rest = uncertain && { uncertain };
  rig.probes.answer = ({ kind }) =>
    kind === 'account'
      ? { ...rig.probes.complete(ended.orderId, 'other'), certain: false, working: ['other'], ...rest }
      : { complete: false, error: { code: 'NO_ANSWER', message: 'none', retryable: true, sent: 'maybe' } };
  const { commandId } = await rig.send(cancelWorking);
  await rig.clock.advance(10 * 60_000);
  return rig.state(commandId);
}

it('is settled by a list that is uncertain of other orders alone', async () => {
  expect(await canceled(['other'])).toBe('moot');
});

it.each([[[ended.orderId]], [undefined]])('is not by one that is uncertain of its own order: %s', async (uncertain) => {
  expect(await canceled(uncertain)).toBe('unknown');
});
