import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { fence, type JournalUnderTest } from './journal-fixtures.ts';

export function cancelTimerContract(make: () => Promise<JournalUnderTest>): void {
  const timers = (...accountIds: string[]) => accountIds.map((accountId) => ({ accountId, timerId: randomUUID() }));
  const armed = async ({ journal }: JournalUnderTest) =>
    (await journal.armedCancelTimers([fence.shard])).map(({ principal, accountId, timerId }) => ({
      principal,
      accountId,
      timerId,
    }));

  describe("a dead man's switch", () => {
    it('is armed, renewed and ended for the principal and the accounts that are named, and for no others', async () => {
      await using rig = await make();
      const [first, other] = [timers('acct-1', 'acct-2'), timers('acct-1')];
      const firesAtMs = await rig.journal.setCancelTimers({ principal: 'desk', afterMs: 60_000, timers: first }, fence);
      expect(firesAtMs).toEqual(expect.any(Number));
      await rig.journal.setCancelTimers({ principal: 'other', afterMs: 90_000, timers: other }, fence);
      const renewed = timers('acct-2');
      await rig.journal.setCancelTimers({ principal: 'desk', afterMs: 120_000, timers: renewed }, fence);
      await rig.journal.setCancelTimers({ principal: 'other', afterMs: 0, timers: timers('acct-1', 'acct-9') }, fence);
      expect(await armed(rig)).toEqual([
        { principal: 'desk', ...first[0] },
        { principal: 'desk', ...renewed[0] },
      ]);
      expect(await rig.journal.armedCancelTimers([fence.shard + 1])).toEqual([]);
    });

    it('tells how much is left, and nothing below zero', async () => {
      await using rig = await make();
      await rig.journal.setCancelTimers({ principal: 'desk', afterMs: 3_600_000, timers: timers('acct-1') }, fence);
      const [timer] = await rig.journal.armedCancelTimers([fence.shard]);
      expect(timer?.leftMs).toBeGreaterThan(0);
      expect(timer?.leftMs).toBeLessThanOrEqual(3_600_000);
    });

    it('ends once it has fired, unless it was renewed since', async () => {
      await using rig = await make();
      const [first] = timers('acct-1');
      const [renewed] = timers('acct-1');
      if (first === undefined || renewed === undefined) throw new Error('there is no timer');
      const change = { principal: 'desk', afterMs: 60_000 };
      await rig.journal.setCancelTimers({ ...change, timers: [first] }, fence);
      await rig.journal.setCancelTimers({ ...change, timers: [renewed] }, fence);
      expect(await rig.journal.endCancelTimer(first.timerId, fence)).toBe(true);
      expect(await armed(rig)).toEqual([{ principal: 'desk', ...renewed }]);
      expect(await rig.journal.endCancelTimer(renewed.timerId, fence)).toBe(true);
      expect(await armed(rig)).toEqual([]);
    });

    it('is neither set nor ended by a holder of before', async () => {
      await using rig = await make();
      const late = { ...fence, epoch: fence.epoch - 1n };
      const own = timers('acct-1');
      expect(
        await rig.journal.setCancelTimers({ principal: 'desk', afterMs: 1_000, timers: own }, late),
      ).toBeUndefined();
      expect(await armed(rig)).toEqual([]);
      expect(await rig.journal.endCancelTimer(own[0]?.timerId ?? '', late)).toBe(false);
    });
  });
}
