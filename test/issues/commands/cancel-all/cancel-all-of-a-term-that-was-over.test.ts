// What a user saw: A cancel-all went on for ever after its shard had moved, and each cancel was declined.

import { expect, it } from 'vitest';
import { seededRandom } from '../../../../src/sandbox/seeded-random.ts';
import type { Answer } from '../../../../src/service/commands/answer.ts';
import { CancelAllRun, type CancelAllRunDeps } from '../../../../src/service/commands/cancel-all/cancel-all-run.ts';
import type { Journaled } from '../../../../src/service/commands/commands.ts';
import type { NewCancelAll } from '../../../../src/store/commands/cancel-all-journal.ts';
import { VirtualClock } from '../../../support/runs/virtual-clock.ts';

// Found by the simulator (seed 15033). The shard was given away while the cancel-all was being
// written down. Its run came to life after the end of the term, so nothing stopped it: it asked for
// its cancels for ever, and each was declined.
it('a cancel-all whose term was over when it was written down asks for each cancel once, and ends', async () => {
  const clock = new VirtualClock();
  let asked = 0;
  const submit = async (): Promise<Answer<Journaled>> => {
    asked += 1;
    return {
      kind: 'declined',
      code: 'NOT_LEADER',
      message: 'another process holds the shard of the account, or its commands are being taken over',
    };
  };
  const deps = { clock, random: seededRandom(1), submit, journal: {}, books: {} } as unknown as CancelAllRunDeps;
  const record = {
    ...{
      cancelAllId: 'c',
      principal: 'p',
      idempotencyKey: 'k',
      requestHash: 'h',
      reason: 'r',
      onLanding: 'cancel' as const,
      selection: {},
    },
    ...{
      orders: [{ accountId: 'a', stream: 'account' as const, orderId: 'o' }],
      places: [],
      unread: [],
      declined: [],
      atMs: 0,
    },
  } satisfies NewCancelAll;
  const options = { cancelAllWindow: 4, journalBackoff: { firstMs: 100, maxMs: 1_000 } };
  const run = new CancelAllRun(deps, record, { over: AbortSignal.abort(), fence: { shard: 0, epoch: 1n } }, options);
  let ended = false;
  void run.carryOut().then(() => {
    ended = true;
  });
  await clock.advance(60_000);
  expect([asked, ended]).toEqual([1, true]);
});
