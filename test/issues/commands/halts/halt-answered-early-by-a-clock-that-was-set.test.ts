// What a user saw: A halt was answered while another process could still send: a clock was set forward.

import { describe, expect, it } from 'vitest';
import { commandDefaults } from '../../../../src/service/commands/command-options.ts';
import { CommandRig, type EntryScript, placeEquity, word } from '../../../support/commands/command-rig.ts';

const service = { kind: 'service' } as const;
const { writeWithinMs } = commandDefaults;
const hour = 3_600_000;

// The answer waited for the processes whose lanes were renewed lately, by the database's clock.
describe.each([-hour, 0, hour])('where the clocks are set by %i ms while a halt is written', (byMs) => {
  it.each(['the database', 'the process'] as const)(
    'that of %s: it is answered when its second is over',
    async (of) => {
      const ahead = { ms: 0 };
      const rig = await CommandRig.leading({ ahead, sharedClock: true });
      let committedMs = Number.NaN;
      rig.journal.hook = async (operation, transact) => {
        const result = await transact();
        if (operation !== 'raiseHalt') return result;
        await rig.clock.sleep(40);
        committedMs = rig.clock.monotonicMs();
        if (of === 'the process') ahead.ms += byMs;
        else rig.journal.nowMs = () => rig.clock.nowMs() + byMs;
        return result;
      };
      let answered = false;
      const halting = rig.commands.operator.halt(service, word).then((result) => {
        answered = true;
        return result;
      });
      await rig.clock.advanceUntil(() => !Number.isNaN(committedMs), 1_000);
      await rig.clock.advance(writeWithinMs - 1);
      expect(answered, 'a millisecond before').toBe(false);
      await rig.clock.advance(1);
      expect(await halting).toMatchObject({ kind: 'done', halts: [{ cause: 'operator' }] });
    },
  );
});

describe('a process that sleeps between the mark of a place and its write', () => {
  it.each([
    ['opened', 0],
    ['marked', 300],
  ] as const)('writes nothing from its second on, and a halt is answered no sooner (%s)', async (_way, connectMs) => {
    for (const [sleptMs, sent] of [
      [writeWithinMs - 100, 1],
      [writeWithinMs, 0],
      [hour, 0],
    ] as const) {
      const rig = await CommandRig.leading({ deadlineMs: 10 * hour });
      const other = await CommandRig.leading({ shards: [1] }, rig);
      const script: EntryScript = { connect: { ms: connectMs }, result: { kind: 'accepted', answer: {} } };
      rig.entry.scripts.push(script);
      rig.entry.sleepsMs = sleptMs;
      const placing = rig.commands.submit(rig.submission(placeEquity));
      await rig.clock.advanceUntil(() => rig.entry.slept, 5_000);
      const halting = other.during(other.commands.operator.halt(service, word));
      await halting;
      const answeredMs = rig.clock.monotonicMs();
      await rig.during(placing, 2 * hour);
      expect(rig.entry.sent, `slept ${sleptMs} ms`).toHaveLength(sent);
      for (const { atMs } of rig.entry.sent) expect(atMs).toBeLessThan(answeredMs);
    }
  });
});
