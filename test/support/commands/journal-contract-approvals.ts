import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Approval, mostWaiting } from '../../../src/store/commands/stops-journal.ts';
import { atMs, type JournalUnderTest } from './journal-fixtures.ts';

function request(over: Partial<Approval> = {}): Approval {
  return {
    approvalId: randomUUID(),
    action: { kind: 'resume', scope: { kind: 'account', accountId: 'acct-1' } },
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
        action: { kind: 'resume', scope: { kind: 'service' } },
        atMs: atMs + 1,
      });
      const first = request();
      for (const each of [first, everywhere]) await rig.journal.requestApproval(each);
      expect(await rig.journal.approvals(atMs)).toEqual([first, everywhere]);
      const taken = await Promise.all(
        Array.from({ length: 5 }, () => rig.journal.takeApproval(first.approvalId, second)),
      );
      expect(taken.filter((each) => each !== undefined)).toEqual([first]);
      expect(await rig.journal.approvals(atMs)).toEqual([everywhere]);
    });

    it('is one, however often the same principal asks for the same act', async () => {
      await using rig = await make();
      const first = request();
      expect(await rig.journal.requestApproval(first)).toEqual(first);
      const again = await Promise.all(
        Array.from({ length: 5 }, () => rig.journal.requestApproval(request({ reason: 'again', atMs: atMs + 1 }))),
      );
      expect(again).toEqual(Array.from({ length: 5 }, () => first));
      const ofAnother = request({ by: 'carl', atMs: atMs + 2, expiresAtMs: atMs + 3_000 });
      expect(await rig.journal.requestApproval(ofAnother)).toEqual(ofAnother);
      expect(await rig.journal.approvals(atMs)).toEqual([first, ofAnother]);
      // An act that was approved, or has expired, may be asked for again.
      await rig.journal.takeApproval(first.approvalId, second);
      const later = request({ atMs: atMs + 20, expiresAtMs: atMs + 1_020 });
      expect(await rig.journal.requestApproval(later)).toEqual(later);
      const muchLater = request({ atMs: atMs + 2_000, expiresAtMs: atMs + 3_000 });
      expect(await rig.journal.requestApproval(muchLater)).toEqual(muchLater);
    });

    it('is found by its id and by its account, and takes no room from those of others', async () => {
      await using rig = await make();
      const of = (accountId: string) =>
        request({ action: { kind: 'resume', scope: { kind: 'account', accountId } }, accountId });
      for (let at = 0; at < mostWaiting; at += 1)
        expect(await rig.journal.requestApproval(of(`acct-${at}`))).toBeDefined();
      expect(await rig.journal.requestApproval(of('acct-x'))).toBeUndefined();
      expect(await rig.journal.approvals(atMs)).toHaveLength(mostWaiting);
      const other = { ...of('acct-1'), by: 'dora' };
      expect(await rig.journal.requestApproval(other)).toEqual(other);
      expect(await rig.journal.findApproval(other.approvalId, atMs)).toEqual(other);
      expect(await rig.journal.findApproval(other.approvalId, atMs + 1_000)).toBeUndefined();
      expect(await rig.journal.findApproval(randomUUID(), atMs)).toBeUndefined();
      expect((await rig.journal.approvals(atMs, ['acct-1', 'acct-y'])).map(({ by }) => by).sort()).toEqual([
        'ann',
        'dora',
      ]);
      expect(await rig.journal.approvals(atMs, [])).toEqual([]);
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
