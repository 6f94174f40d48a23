import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Approval } from '../../src/store/command-journal.ts';
import { atMs, type JournalUnderTest } from './journal-fixtures.ts';

function request(over: Partial<Approval> = {}): Approval {
  return {
    approvalId: randomUUID(),
    deed: { kind: 'resume', scope: { kind: 'account', accountId: 'acct-1' } },
    accountId: 'acct-1',
    by: 'ann',
    reason: 'looked',
    requestId: 'request-1',
    atMs,
    expiresAtMs: atMs + 1_000,
    ...over,
  };
}

const second = { by: 'bob', reason: 'agreed', requestId: 'request-2', atMs: atMs + 10 };

export function approvalContract(make: () => Promise<JournalUnderTest>): void {
  describe('a request for a second principal', () => {
    it('waits until it is approved, once', async () => {
      await using rig = await make();
      const { accountId: _none, ...everywhere } = request({
        deed: { kind: 'resume', scope: { kind: 'service' } },
        atMs: atMs + 1,
      });
      const first = request();
      for (const each of [first, everywhere]) await rig.journal.requestApproval(each);
      expect(await rig.journal.approvals(atMs)).toEqual([first, everywhere]);
      const taken = await Promise.all(Array.from({ length: 5 }, () => rig.journal.takeApproval(first.approvalId, second)));
      expect(taken.filter((each) => each !== undefined)).toEqual([first]);
      expect(await rig.journal.approvals(atMs)).toEqual([everywhere]);
    });

    it('is not approved by the principal that asked, nor after it has expired, nor where there is none', async () => {
      await using rig = await make();
      const asked = request();
      await rig.journal.requestApproval(asked);
      expect(await rig.journal.takeApproval(asked.approvalId, { ...second, by: 'ann' })).toBeUndefined();
      expect(await rig.journal.takeApproval(asked.approvalId, { ...second, atMs: atMs + 1_000 })).toBeUndefined();
      expect(await rig.journal.takeApproval(randomUUID(), second)).toBeUndefined();
      expect(await rig.journal.approvals(atMs + 999)).toEqual([asked]);
      expect(await rig.journal.approvals(atMs + 1_000)).toEqual([]);
    });
  });
}
