// What a user saw: After one failed read, one person could settle a command without the second approval.

import { expect, it } from 'vitest';
import { CommandRig, placeEquity, unknown, word } from '../../support/commands/command-rig.ts';

/**
 * The read that tells for which account a second principal is needed failed once, and the
 * settlement went on without one.
 */
it('with four eyes nothing is settled where the command can not be read, however many of the reads fail', async () => {
  for (const failing of [1, 2, 3]) {
    const rig = await CommandRig.leading({ fourEyes: true });
    rig.entry.scripts.push({ result: unknown });
    const { commandId } = await rig.send(placeEquity);
    const find = rig.journal.find.bind(rig.journal);
    let left = failing;
    rig.journal.find = (id) => {
      left -= 1;
      return left >= 0 ? Promise.reject(new Error('timeout exceeded when trying to connect')) : find(id);
    };
    for (let tries = 0; tries <= failing; tries += 1) {
      const result = await rig.during(rig.commands.operator.settle(commandId, 'not_sent', word));
      expect(result).toMatchObject(tries < failing ? { code: 'STORE_UNAVAILABLE' } : { kind: 'requested' });
    }
    expect(rig.state(commandId)).toBe('unknown');
  }
});

it('a command that is not there is not settled either, though it may be a moment later', async () => {
  const rig = await CommandRig.leading({ fourEyes: true });
  rig.entry.scripts.push({ result: unknown });
  const { commandId } = await rig.send(placeEquity);
  const find = rig.journal.find.bind(rig.journal);
  let asked = 0;
  rig.journal.find = (id) => {
    asked += 1;
    return asked === 1 ? Promise.resolve(undefined) : find(id);
  };
  expect(await rig.during(rig.commands.operator.settle(commandId, 'not_sent', word))).toMatchObject({
    code: 'COMMAND_NOT_FOUND',
  });
  expect(rig.state(commandId)).toBe('unknown');
});
