// What a user saw: A repeated key got the answer that nothing was sent, although its order was live.

import { describe, expect, it } from 'vitest';
import { CommandRig, placeEquity } from '../../support/commands/command-rig.ts';

// Found in review: what declines a command before it is looked at (commands turned off, a full
// line, a standby) did so before its key was looked up. Whoever asked again was told that nothing
// was sent, of an order that was live.
describe('the same key again is answered with its command', () => {
  async function sent() {
    const rig = await CommandRig.leading();
    const submission = rig.submission(placeEquity);
    const first = await rig.during(rig.commands.submit(submission));
    if (first.kind !== 'journaled') throw new Error(first.message);
    const { commandId, state } = first.command;
    const again = (beside: CommandRig) => beside.during(beside.commands.submit(submission));
    return { rig, again, replayed: { kind: 'journaled', replayed: true, command: { commandId, state } } };
  }

  it('when commands were turned off meanwhile', async () => {
    const { rig, again, replayed } = await sent();
    const off = await CommandRig.leading({ enabled: false }, rig);
    expect(await again(off)).toMatchObject(replayed);
    expect(await off.declined(placeEquity)).toBe('COMMANDS_OFF');
  });

  it('by a process that stands by, and by one that drains', async () => {
    const { rig, again, replayed } = await sent();
    expect(await again(new CommandRig({}, rig))).toMatchObject(replayed);
    await rig.commands.drain(new AbortController().signal);
    expect(await again(rig)).toMatchObject(replayed);
  });

  it('when too many commands of the account wait', async () => {
    const { rig, again, replayed } = await sent();
    const full = await CommandRig.leading({ maxWaitingPerAccount: 0 }, rig);
    expect(await again(full)).toMatchObject(replayed);
    expect(await full.declined(placeEquity)).toBe('RATE_LIMITED');
  });

  it('or with nothing said about it while the journal cannot be read', async () => {
    const { rig, again } = await sent();
    const off = await CommandRig.leading({ enabled: false }, rig);
    rig.journal.hook = () => Promise.reject(new Error('gone'));
    expect(await again(off)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('by this request'),
    });
  });

  it('and with another body it is refused, whatever stands in the way', async () => {
    const { rig } = await sent();
    const { idempotencyKey = '' } = [...rig.journal.commands.values()][0] ?? {};
    const off = await CommandRig.leading({ enabled: false }, rig);
    const other = { ...placeEquity, terms: { ...placeEquity.terms, qty: '11' } };
    expect(await off.declined(other, { idempotencyKey })).toBe('IDEMPOTENCY_KEY_REUSED');
  });
});
