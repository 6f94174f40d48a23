// What a user saw: A process could hang in a loop while it waited to ask again about an unknown command.

import { describe, expect, it } from 'vitest';
import { CommandRig, placeEquity, unknown } from '../../support/commands/command-rig.ts';

/**
 * Met by seed 17 of the simulator: clocks have fractions of milliseconds, and the sum of two of
 * them may fall short by the last digit.
 */
describe('a probe whose timer fires the last digit too early', () => {
  it('is made once, and the next one at its own time', async () => {
    const rig = await CommandRig.leading();
    await rig.clock.advance(8_406.216068589732);
    rig.entry.scripts.push({ result: unknown });
    const { commandId } = await rig.send(placeEquity);
    await rig.clock.advance(100);
    const before = rig.probes.asked.length;
    await rig.clock.advance(300);
    expect(rig.probes.asked.length - before).toBe(1);
    expect(rig.state(commandId)).toBe('unknown');
  }, 10_000);
});
