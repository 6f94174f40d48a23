import { describe, expect, it } from 'vitest';
import { shared } from '../../../src/service/run/service-view.ts';
import type { AccountScope } from '../../../src/store/orders/order-reads.ts';

describe('issue: With many consoles open, each process made its whole status for each of them.', () => {
  const only = (...accountIds: string[]): AccountScope => ({ kind: 'accounts', accountIds });

  function started() {
    const clock = { nowMs: 0, monotonicMs: () => clock.nowMs };
    const made: AccountScope[] = [];
    const status = shared(clock, async (scope) => {
      made.push(scope);
      return { number: made.length, scope };
    });
    return { clock, made, status };
  }

  it('readers with the same rights get one document for half a second, and never that of other rights', async () => {
    const { clock, made, status } = started();
    const asked = [{ kind: 'all' } as const, only('a', 'b'), only('a'), only('b', 'a'), only('a,b'), only()];
    const first = await Promise.all(asked.map(status));
    expect(made).toHaveLength(5);
    expect(first[3]).toBe(first[1]);
    for (const [at, scope] of asked.entries()) if (at !== 3) expect(first[at]?.scope).toEqual(scope);
    clock.nowMs = 499;
    expect(await status(only('b', 'a'))).toBe(first[1]);
    clock.nowMs = 500;
    expect(await status(only('a', 'b'))).not.toBe(first[1]);
  });

  it('a document that failed is made again, and kept ones are bounded', async () => {
    const clock = { monotonicMs: () => 0 };
    let made = 0;
    const status = shared(clock, async () => {
      made += 1;
      if (made === 1) throw new Error('it failed');
      return made;
    });
    await expect(status(only('a'))).rejects.toThrow('it failed');
    expect(await status(only('a'))).toBe(2);
    for (let at = 0; at < 500; at += 1) await status(only(`other-${at}`));
    expect(await status(only('a')), 'it had to go').toBe(503);
  });
});
