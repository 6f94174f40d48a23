// What a user saw: After a takeover orders were refused for an hour, or one was placed twice.

import { describe, expect, it } from 'vitest';
import { accepted, CommandRig, placeEquity, unknown, word } from '../../support/commands/command-rig.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** A process with the true time has done something, and one whose clock is off takes over. */
async function takenOver(aheadMs: number, before: (rig: CommandRig) => Promise<unknown>, afterMs = 0) {
  const first = await CommandRig.leading();
  await before(first);
  // Nothing of a process that is gone is to be done in the seven days until then.
  first.commands.end(0);
  await first.clock.advance(afterMs);
  return CommandRig.leading({ ahead: { ms: aheadMs }, sharedClock: true }, first);
}

async function limited(rig: CommandRig, bounds: object): Promise<void> {
  const { operator } = rig.commands;
  const result = await rig.during(operator.changeLimits({ accountId: 'acct-1' }, bounds, word));
  if (result.kind !== 'done') throw new Error(`the limits were not set: ${JSON.stringify(result)}`);
}

/** A place that the platform has taken. */
function place(rig: CommandRig, idempotencyKey = 'first') {
  rig.entry.scripts.push({ result: accepted });
  return rig.submit(placeEquity, { idempotencyKey });
}

async function outcome(rig: CommandRig, idempotencyKey = 'second'): Promise<string> {
  const result = await rig.during(place(rig, idempotencyKey));
  return result.kind === 'declined' ? result.code : `${result.kind} ${rig.entry.sent.length}`;
}

const offs = [-day, -hour, 0, hour, day];

describe.each(offs.map((ms) => [ms / hour, ms] as const))('a takeover by a clock that is %i h ahead', (_hours, ms) => {
  it('counts the orders of the last minute, and no older ones', async () => {
    const before = async (rig: CommandRig) => {
      await limited(rig, { ordersPerMinute: 1 });
      await rig.during(place(rig));
    };
    expect(await outcome(await takenOver(ms, before, minute / 2))).toBe('LIMIT_EXCEEDED');
    expect(await outcome(await takenOver(ms, before, 2 * minute))).toMatch(/ 1$/);
  });

  it('knows a repeated order within its window, and not after', async () => {
    const before = async (rig: CommandRig) => {
      await limited(rig, { duplicateWindowMs: 10 * minute });
      await rig.during(place(rig));
    };
    expect(await outcome(await takenOver(ms, before, 9 * minute))).toBe('LIMIT_EXCEEDED');
    expect(await outcome(await takenOver(ms, before, 11 * minute))).toMatch(/ 1$/);
  });

  it('keeps a key for seven days, and no longer', async () => {
    const before = async (rig: CommandRig) => {
      const result = await rig.during(place(rig));
      if (result.kind === 'declined') throw new Error(result.code);
      rig.land(result.command.commandId);
      // Its days begin when it is settled.
      await rig.clock.advance(1_000);
    };
    expect(await outcome(await takenOver(ms, before, 7 * day - 30 * minute), 'first')).toMatch(/ 0$/);
    expect(await outcome(await takenOver(ms, before, 7 * day + 30 * minute), 'first')).toMatch(/ 1$/);
  });

  it('presumes a place absent after ten minutes and five reads, not before and not much later', async () => {
    let commandId = '';
    const before = async (rig: CommandRig) => {
      rig.entry.scripts.push({ result: unknown });
      ({ commandId } = await rig.send(placeEquity));
    };
    const rig = await takenOver(ms, before, minute / 2);
    await rig.clock.advance(8 * minute);
    expect(rig.command(commandId)).toMatchObject({ state: 'unknown', presumedAbsent: false });
    await rig.clock.advance(12 * minute);
    expect(rig.command(commandId)).toMatchObject({ state: 'unknown', presumedAbsent: true });
  });
});
