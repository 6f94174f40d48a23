import { describe, expect, it } from 'vitest';
import { atMs, fence, halt, type JournalUnderTest } from './journal-fixtures.ts';

const looked = { by: 'ann', reason: 'looked', atMs: atMs + 9 };

export function haltContract(make: () => Promise<JournalUnderTest>): void {
  describe('a halt', () => {
    it('is raised once for each scope and cause while it is active', async () => {
      await using rig = await make();
      const first = halt();
      expect(await rig.journal.raiseHalt(first, fence)).toEqual(first);
      expect(await rig.journal.raiseHalt(halt({ reason: 'again' }), fence)).toEqual(first);
      const others = [
        halt({ cause: 'rate', sinceMs: atMs + 1 }),
        halt({ scope: { kind: 'service' }, sinceMs: atMs + 2 }),
      ];
      for (const other of others) expect(await rig.journal.raiseHalt(other, fence)).toEqual(other);
      expect(await rig.journal.activeHalts()).toEqual([first, ...others]);
    });

    it('is refused to a holder of before, and taken without a fence from a process that saw its cause', async () => {
      await using rig = await make();
      const late = { ...fence, epoch: fence.epoch - 1n };
      expect(await rig.journal.raiseHalt(halt(), late)).toBe('fenced');
      expect(await rig.journal.activeHalts()).toEqual([]);
      const seen = halt();
      expect(await rig.journal.raiseHalt(seen, undefined)).toEqual(seen);
      expect(await rig.journal.activeHalts()).toEqual([seen]);
    });

    it('is cleared by scope, and may be raised anew', async () => {
      await using rig = await make();
      const ofService = halt({ scope: { kind: 'service' } });
      for (const each of [halt(), halt({ cause: 'rate' }), ofService]) await rig.journal.raiseHalt(each, fence);
      const scope = { kind: 'account', accountId: 'acct-1' } as const;
      expect(await rig.journal.clearHalts(scope, looked, fence)).toBe(2);
      expect(await rig.journal.activeHalts()).toEqual([ofService]);
      expect(await rig.journal.clearHalts(scope, looked, fence)).toBe(0);
      const anew = halt();
      expect(await rig.journal.raiseHalt(anew, fence)).toEqual(anew);
    });

    it('of an operator for every account is kept, and all beside it, where the token names some', async () => {
      await using rig = await make();
      const scope = { kind: 'account', accountId: 'acct-1' } as const;
      const own = halt({ cause: 'account_operator' });
      const ops = halt({ sinceMs: atMs + 1 });
      const bound = { ...looked, ofSomeAccounts: true } as const;
      await rig.journal.raiseHalt(own, fence);
      expect(await rig.journal.raiseHalt(ops, fence)).toEqual(ops);
      expect(await rig.journal.clearHalts(scope, bound, fence)).toBe('kept');
      expect(await rig.journal.activeHalts()).toEqual([own, ops]);
      expect(await rig.journal.clearHalts(scope, looked, fence)).toBe(2);
      await rig.journal.raiseHalt(halt({ cause: 'account_operator' }), fence);
      expect(await rig.journal.clearHalts(scope, bound, fence)).toBe(1);
    });

    it('that is the newest of its cause and scope is found, active or cleared', async () => {
      await using rig = await make();
      const scope = { kind: 'account', accountId: 'acct-1' } as const;
      const ofService = halt({ scope: { kind: 'service' }, cause: 'unresolved' });
      expect(await rig.journal.newestHalts('unresolved', ['acct-1'])).toEqual([]);
      // The newer one has the earlier time: its process has another clock.
      for (const each of [halt({ cause: 'unresolved', sinceMs: atMs + 5 }), halt({ cause: 'rate' }), ofService])
        await rig.journal.raiseHalt(each, fence);
      await rig.journal.clearHalts(scope, looked, fence);
      const newer = halt({ cause: 'unresolved', sinceMs: atMs + 1 });
      await rig.journal.raiseHalt(newer, fence);
      await rig.journal.clearHalts(scope, { ...looked, atMs: atMs + 20 }, fence);
      expect(await rig.journal.newestHalts('unresolved', ['acct-1', 'acct-2'])).toEqual([
        ofService,
        { ...newer, clearedAtMs: atMs + 20, clearedBy: 'ann', clearedReason: 'looked' },
      ]);
      expect(await rig.journal.newestHalts('unresolved', [])).toEqual([ofService]);
    });
  });
}
