// What a user saw: A cancel-all of an account without prediction trading always ended with exit code 75.

import { expect, it } from 'vitest';
import { CommandRig, word } from '../../../support/commands/command-rig.ts';

/**
 * An account that trades no predictions is refused by their list, with 403. The cancel-all counted
 * it among those that could not be read, so it was open for ever: the line that is for emergencies
 * ended with 75, and the advice to repeat it could not help.
 */
it.each([
  ['that the platform refuses, as it did before', 403, true, []],
  ['whose list fails otherwise', 500, true, ['NOT_READ', 'NOT_READ']],
  ['that is refused for the first time', 403, false, ['NOT_READ', 'NOT_READ']],
] as const)('a cancel-all of an account %s', async (_name, status, notEnrolled, unread) => {
  const rig = await CommandRig.leading();
  rig.probes.now = { ...rig.probes.now, notEnrolled };
  rig.probes.answer = () => ({
    complete: false,
    error: { status, message: 'not enrolled', retryable: false, sent: 'yes' },
  });
  const account = { kind: 'account', accountId: 'acct-1' } as const;
  const result = await rig.during(rig.commands.cancelAll(account, { ...word, idempotencyKey: 'all' }));
  if (result.kind === 'declined') throw new Error(result.code);
  expect(result.unread.map(({ code }) => code)).toEqual(unread);
  expect(result.open).toBe(unread.length > 0);
});
