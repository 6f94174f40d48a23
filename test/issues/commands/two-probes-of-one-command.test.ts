// What a user saw: Two probes asked the platform about one command at once, even after its shard had left.

import { expect, it } from 'vitest';
import { CommandRig, placeEquity, unknown } from '../../support/commands/command-rig.ts';

// A read of the account that ended while the direct probe of a command was under way armed the next
// probe beside it. The second one took the place of the first, which nothing could stop from then
// on: it armed another probe after the shard was gone.
it('a command has one probe at a time, and none once its shard is gone', async () => {
  const rig = await CommandRig.leading();
  let running = 0;
  let most = 0;
  rig.probes.answer = async ({ kind }) => {
    if (kind === 'account') return rig.probes.complete();
    running += 1;
    most = Math.max(most, running);
    await rig.clock.sleep(1_500);
    running -= 1;
    return { complete: false, error: { code: 'x', message: 'x', retryable: true, sent: 'maybe' } };
  };
  rig.entry.scripts.push({ result: unknown });
  await rig.send(placeEquity);
  await rig.clock.advance(300);
  expect(running, 'the first probe is under way').toBe(1);
  await rig.during(rig.commands.reconcile({ dryRun: false }));
  await rig.clock.advance(400);
  expect(most).toBe(1);
  rig.commands.end(0);
  await rig.clock.advance(2_000);
  rig.probes.asked.length = 0;
  await rig.clock.advance(120_000);
  expect(rig.probes.asked).toEqual([]);
});
