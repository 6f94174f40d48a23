// What a user saw: A caller that had lost its own database placed an order twice under the same reference.

import { expect, it } from 'vitest';
import { CommandRig, placeEquity, placePrediction } from '../../support/commands/command-rig.ts';

// A caller that lost its own store gives a new key to an order that it has placed before. Its
// reference is what it still knows, and nothing asked about it.
it('a reference names one command of its principal where it is said to be unique, and takes no turn of the rate when it is refused', async () => {
  const rig = await CommandRig.leading({ callerRefOnce: true, rate: { perSecond: 1, burst: 3 } });
  const first = await rig.send(placeEquity, { callerRef: 'mine-1' });
  for (let i = 0; i < 5; i += 1)
    expect(await rig.declined(placeEquity, { callerRef: 'mine-1' })).toBe('CALLER_REF_REUSED');
  expect(await rig.declined(placePrediction, { callerRef: 'mine-1' }), 'whatever it is about').toBe(
    'CALLER_REF_REUSED',
  );
  expect(rig.entry.sent).toHaveLength(1);
  await rig.send(placePrediction, { callerRef: 'mine-1', principal: 'another' });
  await rig.send(placePrediction, { callerRef: 'mine-2' });
  const again = { callerRef: 'mine-1', idempotencyKey: first.idempotencyKey };
  expect(await rig.submit(placeEquity, again)).toMatchObject({ kind: 'journaled', replayed: true });
});

it('a reference may name many commands otherwise', async () => {
  const rig = await CommandRig.leading();
  await rig.send(placeEquity, { callerRef: 'bot' });
  await rig.send(placePrediction, { callerRef: 'bot' });
  expect(rig.entry.sent).toHaveLength(2);
});
