// What a user saw: A cancel was shown as rejected after a takeover, and later it cancelled its order.

import { describe, expect, it } from 'vitest';
import {
  CommandRig,
  cancelWorking,
  type CommandRig as Rig,
  refused,
  unknown,
  workingOrder,
} from '../../support/commands/command-rig.ts';

const atVersion = { kind: 'accepted', answer: { status: 202, version: '20' } } as const;

/**
 * Two cancels of one order: the first is accepted, of the second nobody knows whether it arrived.
 */
async function twoCancels(rig: Rig) {
  rig.commit(workingOrder);
  rig.entry.scripts.push({ result: atVersion }, { result: unknown });
  const first = (await rig.send(cancelWorking)).commandId;
  const second = (await rig.send(cancelWorking)).commandId;
  return { first, second };
}

async function theFirstIsRefused(rig: Rig): Promise<void> {
  rig.commit({ ...workingOrder, pendingAction: 'cancel' });
  rig.commit({ ...workingOrder, rejectText: 'too late' });
  await rig.clock.advance(1_000);
}

// Whose cancel was seen pending was known in memory alone: a process that took over when one of the
// two had long been settled took its refusal for that of the other.
describe('an unknown cancel beside one that was refused', () => {
  it('stays unknown when another process takes over, however long after the other was settled', async () => {
    const rig = await CommandRig.leading();
    const { first, second } = await twoCancels(rig);
    await theFirstIsRefused(rig);
    expect([rig.state(first), rig.state(second)]).toEqual(['rejected', 'unknown']);
    await rig.clock.advance(600_000);
    rig.commands.endAll();
    const next = await CommandRig.leading({}, rig);
    await next.clock.advance(600_000);
    expect(rig.state(second)).toBe('unknown');
    // It was on its way all the time.
    next.commit({ ...workingOrder, status: 'canceled' });
    await next.clock.advance(1_000);
    expect(rig.state(second)).toBe('applied');
    expect(rig.codes(second)).toContain('rival');
  });

  it('stays unknown when the journal tells of the other only after some failures', async () => {
    const rig = await CommandRig.leading();
    const { second } = await twoCancels(rig);
    await theFirstIsRefused(rig);
    await rig.clock.advance(600_000);
    rig.commands.endAll();
    let failures = 5;
    rig.journal.hook = async (operation, transact) => {
      if (operation === 'rivals' && failures-- > 0) throw new Error('the database cannot be reached');
      return transact();
    };
    const next = await CommandRig.leading({}, rig);
    await next.clock.advance(60_000);
    expect(failures).toBeLessThanOrEqual(0);
    expect(rig.state(second)).toBe('unknown');
  });

  it('stays unknown when more commands are unresolved than fit into memory', async () => {
    const rig = await CommandRig.leading({ maxWatched: 1 });
    const { second } = await twoCancels(rig);
    await theFirstIsRefused(rig);
    await rig.clock.advance(60_000);
    expect(rig.state(second)).toBe('unknown');
  });

  it('is told apart where the platform’s word is that nothing came of the other', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.entry.scripts.push({ result: unknown }, { result: refused(409), answerMs: 300 });
    const first = (await rig.send(cancelWorking)).commandId;
    const second = rig.commands.submit(rig.submission(cancelWorking));
    await rig.clock.advance(100);
    await theFirstIsRefused(rig);
    await rig.during(second);
    await rig.clock.advance(1_000);
    expect(rig.state(first)).toBe('rejected');
    expect(rig.codes(first)).toEqual(expect.arrayContaining(['rival', 'no_rival']));
  });
});
