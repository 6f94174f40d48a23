// What a user saw: A replace never got an outcome while the reads of accounts used up the read budget.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { AccountReads } from '../../../src/service/commands/account-reads.ts';
import { ProbeBudget } from '../../../src/service/commands/probe-budget.ts';
import type { AccountLook, FollowedAccounts } from '../../../src/service/sources/account-access.ts';
import { fence } from '../../support/commands/journal-fixtures.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

// Found by the simulator (seed 1693). The look for an order that took the place of an ended
// one asked again and again whether the budget had room. The reads of accounts, each of
// many pages, kept it empty, so the look was never made, and the replace never got an
// outcome. Now it stands in line with them.
it('a look for a successor gets its turn while reads of accounts keep the budget empty', async () => {
  const clock = new VirtualClock();
  const probes = new ProbeBudget(clock, { perSecond: 1, burst: 4 });
  const found: AccountLook = { complete: true, startedAtMs: 0, certain: true, shown: [] };
  const accounts: FollowedAccounts = {
    hasListed: true,
    standing: () => undefined,
    account: () => ({
      ...{ live: true, isSim: true, certain: true, notEnrolled: false },
      lookFor: async () => found,
      lookAt: async () => found,
      lookAtOpen: async () => found,
      lookAtAll: async (_sinceMs, _signal, budget) => {
        for (let page = 0; page < 12; page += 1) budget?.spend();
        return found;
      },
      expectReply: () => () => {},
    }),
  };
  const deps = { accounts, clock, metrics: createMetrics().commands, probes, oldestSend: () => undefined };
  const reads = new AccountReads(deps, { probeDeadlineMs: 30_000 });
  const ended = new AbortController();
  const readOn = async (accountId: string) => {
    while (!ended.signal.aborted) await reads.read('account', accountId, { fence, over: ended.signal });
  };
  for (const accountId of ['a', 'b', 'c']) void readOn(accountId);
  await clock.advance(1_000);
  let looks = 0;
  void reads
    .inTurn(async () => found, ended.signal)
    .then(() => {
      looks += 1;
    });
  for (let second = 0; second < 120; second += 1) {
    expect(await reads.direct(async () => found, ended.signal)).toBeUndefined();
    await clock.advance(1_000);
  }
  expect(looks).toBe(1);
  ended.abort();
});
