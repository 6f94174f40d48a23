// What a user saw: After a superseding place had failed, an order with the same terms was declined for ever.

import { expect, it } from 'vitest';
import { CommandRig, type EntryScript, placeEquity, refused, unknown } from '../../support/commands/command-rig.ts';

const nowhere: EntryScript = {
  connect: {
    result: { kind: 'not_sent', reason: { code: 'NO_CONNECTION', message: 'nobody listens' }, mayRepeat: false },
  },
  result: unknown,
};

// Found in review: a place that superseded a presumed absent one and came to nothing used up the
// release. The first could not be named again, the second not at all, and who named nobody was told
// of the first: those terms could never be placed again.
it.each([
  ['not_sent', nowhere],
  ['refused', { result: refused(400) }],
] as const)(
  'a presumed absent place can be superseded again behind a successor that ended %s, and only then',
  async (end, script) => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: unknown });
    const { commandId } = await rig.send(placeEquity);
    await rig.clock.advance(15 * 60_000);
    rig.entry.scripts.push(script);
    expect(await rig.send(placeEquity, { supersedes: commandId })).toMatchObject({ state: end });
    const writes = rig.entry.sent.length;
    rig.entry.scripts.push({ result: unknown });
    const next = await rig.send(placeEquity, { supersedes: commandId });
    expect(next).toMatchObject({ state: 'unknown', supersedes: commandId });
    expect(rig.entry.sent).toHaveLength(writes + 1);
    expect(await rig.declined(placeEquity, { supersedes: commandId })).toBe('UNRESOLVED_PRIOR_COMMAND');
    expect(await rig.declined(placeEquity)).toBe('UNRESOLVED_PRIOR_COMMAND');
  },
);
