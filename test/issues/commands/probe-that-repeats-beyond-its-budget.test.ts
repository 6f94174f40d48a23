// What a user saw: During an outage the service sent the platform many more reads than its budget allows.

import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { AccountReads } from '../../../src/service/commands/account-reads.ts';
import { ProbeBudget } from '../../../src/service/commands/probe-budget.ts';
import type { AccountLook, FollowedAccounts } from '../../../src/service/sources/account-access.ts';
import type { HttpOutcome } from '../../../src/venue/platform/http.ts';
import type { ReadBudget } from '../../../src/venue/platform/order-reads.ts';
import { platformReads } from '../../../src/venue/platform/platform-reads.ts';
import { fence } from '../../support/commands/journal-fixtures.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const failed: HttpOutcome = { kind: 'answered', status: 503, headers: {}, text: '{}' };
const rate = { perSecond: 1, burst: 4 };

/** The real reads of the platform behind the real budget, over answers by script. */
function rigOf(answer: (url: string) => HttpOutcome) {
  const clock = new VirtualClock();
  const asked: number[] = [];
  const token = { ok: true, token: { secret: new Secret('t'), generation: 1 } } as never;
  const platform = platformReads(
    {
      clock,
      random: seededRandom(1),
      metrics: createMetrics().platform,
      tokens: { get: async () => token, renew: async () => token, taken: () => undefined } as never,
      http: {
        request: async ({ url }) => {
          asked.push(clock.monotonicMs());
          await clock.sleep(10);
          return answer(url);
        },
        close: async () => undefined,
      },
    },
    { platformUrl: 'http://platform', stagingUrl: 'http://platform' },
  );
  const read = async (accountId: string, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook> => {
    const request = { stream: 'account', accountId, state: 'all' } as const;
    const list = await platform.listOrders(request, async () => undefined, signal, budget);
    if (!list.complete) return list;
    return { complete: true, startedAtMs: clock.nowMs(), certain: true, shown: [] };
  };
  const accounts: FollowedAccounts = {
    hasListed: true,
    standing: () => undefined,
    account: (_stream, accountId) => ({
      ...{ live: true, isSim: true, certain: true, notEnrolled: false },
      lookFor: (_reference, signal, budget) => read(accountId, signal, budget),
      lookAtAll: (_sinceMs, signal, budget) => read(accountId, signal, budget),
      lookAtOpen: (signal, budget) => read(accountId, signal, budget),
      lookAt: (_orderId, signal, budget) => read(accountId, signal, budget),
      expectReply: () => () => {},
    }),
  };
  const probes = new ProbeBudget(clock, rate);
  const deps = { accounts, clock, metrics: createMetrics().commands, probes, oldestSend: () => undefined };
  const reads = new AccountReads(deps, { probeDeadlineMs: 30_000 });
  const over = new AbortController();
  return {
    clock,
    asked,
    readAll: (accountId: string) => reads.read('account', accountId, { fence, over: over.signal }),
    over,
  };
}

const mostIn = (ms: number) => rate.burst + (rate.perSecond * ms) / 1_000;

// A read took one token and repeated its request for 30 s on its own account: in an outage, when
// every read fails, many times what the budget allows.
describe('the budget of probes', () => {
  it('bounds the requests of an outage, repeats too', async () => {
    const { clock, asked, readAll, over } = rigOf(() => failed);
    for (let i = 0; i < 60; i += 1) {
      for (const account of ['a', 'b', 'c']) void readAll(account);
      await clock.advance(1_000);
      expect(asked.length).toBeLessThanOrEqual(mostIn(clock.monotonicMs()));
    }
    expect(asked.length).toBeGreaterThan(mostIn(60_000) / 2);
    over.abort();
  });

  it('lets a read that has it to itself repeat a request that failed', async () => {
    let failures = 1;
    const { clock, asked, readAll } = rigOf(() =>
      failures-- > 0 ? failed : { ...failed, status: 200, text: '{"orders":[]}' },
    );
    const read = readAll('a');
    await clock.advance(5_000);
    expect((await read).look.complete).toBe(true);
    expect(asked).toHaveLength(2);
  });

  it('counts every page of a list, and lets the list come to its end', async () => {
    let page = 0;
    const text = () =>
      JSON.stringify({ orders: [{ any: page }], ...(page++ % 12 < 11 && { nextCursor: `c-${page}` }) });
    const { clock, asked, readAll } = rigOf(() => ({ ...failed, status: 200, text: text() }));
    for (let i = 0; i < 5; i += 1) {
      const read = readAll('a');
      await clock.advance(12_000);
      expect((await read).look.complete).toBe(true);
      expect(asked.length).toBe(12 * (i + 1));
    }
    expect(asked.length).toBeLessThanOrEqual(mostIn(clock.monotonicMs()) + 12);
  });
});
