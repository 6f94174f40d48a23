import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { mostWaiting, type NewApproval } from '../../../src/store/commands/halts-journal.ts';
import { answered, atMs, fence, halt, type JournalUnderTest, sending, unknown } from './journal-fixtures.ts';

function request(over: Partial<NewApproval> = {}): NewApproval {
  return {
    approvalId: randomUUID(),
    action: { kind: 'resume', scope: { kind: 'account', accountId: 'acct-1' } },
    accountId: 'acct-1',
    by: 'ann',
    reason: 'looked',
    requestId: 'request-1',
    lastsMs: 3_600_000,
    ...over,
  };
}

/** As it waits: the journal's own clock gives it its times. */
function waiting({ lastsMs: _lasts, ...asked }: NewApproval) {
  return expect.objectContaining(asked);
}

const second = { by: 'bob', reason: 'agreed', requestId: 'request-2' };
const asAsked = { by: 'ann', reason: 'looked', atMs: atMs + 10 };

/** Resumes an account under the approval of a request. */
function approve({ journal }: JournalUnderTest, { approvalId }: NewApproval, over: object = {}) {
  const approval = { ...second, approvalId, ...over };
  return journal.clearHalts({ kind: 'account', accountId: 'acct-1' }, { ...asAsked, approval }, fence);
}

export function approvalContract(make: () => Promise<JournalUnderTest>): void {
  describe('a request for a second principal', () => {
    it('waits until it is approved, once', async () => {
      await using rig = await make();
      const { accountId: _none, ...everywhere } = request({ action: { kind: 'resume', scope: { kind: 'service' } } });
      const first = request();
      await rig.journal.raiseHalt(halt());
      for (const each of [first, everywhere]) await rig.journal.requestApproval(each);
      expect(await rig.journal.approvals()).toEqual([waiting(first), waiting(everywhere)]);
      const cleared = await Promise.all(Array.from({ length: 5 }, () => approve(rig, first)));
      expect(cleared.filter((each) => each !== 'not_waiting')).toEqual([1]);
      expect(await rig.journal.approvals()).toEqual([waiting(everywhere)]);
    });

    it('is one, however often the same principal asks for the same act', async () => {
      await using rig = await make();
      const first = request();
      const asked = await rig.journal.requestApproval(first);
      expect(asked).toEqual(waiting(first));
      expect((asked?.expiresAtMs ?? 0) - (asked?.atMs ?? 0)).toBe(first.lastsMs);
      const again = await Promise.all(
        Array.from({ length: 5 }, () => rig.journal.requestApproval(request({ reason: 'again' }))),
      );
      expect(again).toEqual(Array.from({ length: 5 }, () => asked));
      const ofAnother = request({ by: 'carl' });
      expect(await rig.journal.requestApproval(ofAnother)).toEqual(waiting(ofAnother));
      expect(await rig.journal.approvals()).toEqual([waiting(first), waiting(ofAnother)]);
      // An act that was approved, or has expired, may be asked for again.
      expect(await approve(rig, first)).toBe(0);
      for (const lastsMs of [0, 0, 3_600_000]) {
        const later = request({ lastsMs });
        expect(await rig.journal.requestApproval(later)).toEqual(waiting(later));
      }
    });

    it('is found by its id and by its account, and takes no room from those of others', async () => {
      await using rig = await make();
      const of = (accountId: string) =>
        request({ action: { kind: 'resume', scope: { kind: 'account', accountId } }, accountId });
      for (let at = 0; at < mostWaiting; at += 1)
        expect(await rig.journal.requestApproval(of(`acct-${at}`))).toBeDefined();
      expect(await rig.journal.requestApproval(of('acct-x'))).toBeUndefined();
      expect(await rig.journal.approvals()).toHaveLength(mostWaiting);
      const other = { ...of('acct-1'), by: 'dora' };
      expect(await rig.journal.requestApproval(other)).toEqual(waiting(other));
      expect(await rig.journal.findApproval(other.approvalId)).toEqual(waiting(other));
      expect(await rig.journal.findApproval(randomUUID())).toBeUndefined();
      expect((await rig.journal.approvals(['acct-1', 'acct-y'])).map(({ by }) => by).sort()).toEqual(['ann', 'dora']);
      expect(await rig.journal.approvals([])).toEqual([]);
    });

    it('is not approved by the principal that asked, nor after it has expired, nor where there is none', async () => {
      await using rig = await make();
      const asked = request();
      const expired = request({ by: 'carl', lastsMs: 0 });
      await rig.journal.raiseHalt(halt());
      for (const each of [asked, expired]) await rig.journal.requestApproval(each);
      expect(await approve(rig, asked, { by: 'ann' })).toBe('not_waiting');
      expect(await rig.journal.findApproval(expired.approvalId)).toBeUndefined();
      expect(await approve(rig, expired)).toBe('not_waiting');
      expect(await approve(rig, asked, { approvalId: randomUUID() })).toBe('not_waiting');
      expect((await rig.journal.activeHalts()).length).toBe(1);
      expect(await rig.journal.approvals()).toEqual([waiting(asked)]);
    });

    it('to resume ends with a halt of its scope that comes after it, and with no other', async () => {
      await using rig = await make();
      const scope = { kind: 'account', accountId: 'acct-1' } as const;
      const { accountId: _none, ...everywhere } = request({ action: { kind: 'resume', scope: { kind: 'service' } } });
      const ofAnother = request({
        action: { kind: 'resume', scope: { ...scope, accountId: 'acct-2' } },
        accountId: 'acct-2',
      });
      const resolving = request({ action: { kind: 'resolve', commandId: randomUUID(), result: 'applied' } });
      const others = [everywhere, ofAnother, resolving];
      await rig.journal.raiseHalt(halt());
      for (const each of others) await rig.journal.requestApproval(each);
      // By the service, by an operator, and by an operator where one has halted already.
      const later = [
        halt({ haltId: randomUUID(), cause: 'late_landing' }),
        halt({ haltId: randomUUID(), cause: 'operator' }),
        halt({ haltId: randomUUID(), cause: 'operator' }),
      ];
      for (const next of later) {
        const asked = request({ by: `of ${next.haltId}` });
        await rig.journal.requestApproval(asked);
        await rig.journal.raiseHalt(next);
        expect(await rig.journal.findApproval(asked.approvalId)).toBeUndefined();
        expect(await approve(rig, asked)).toBe('not_waiting');
        // Asked for again, it is another request.
        const again = request({ by: `of ${next.haltId}` });
        expect(await rig.journal.requestApproval(again)).toEqual(waiting(again));
      }
      // The service raises its own again for each further reason: nothing is new in that.
      await rig.journal.raiseHalt(halt({ haltId: randomUUID(), cause: 'late_landing' }));
      const left = await rig.journal.approvals();
      expect(left).toEqual(expect.arrayContaining(others.map(waiting)));
      expect(left).toHaveLength(others.length + 1);
      expect((await rig.journal.activeHalts()).length).toBe(2);
    });

    it('is spent by its act alone: one that was refused leaves it as it was', async () => {
      await using rig = await make();
      const asked = request();
      const approval = { ...second, approvalId: asked.approvalId };
      const late = { ...fence, epoch: fence.epoch - 1n };
      const scope = { kind: 'account', accountId: 'acct-1' } as const;
      const command = await unknown(rig.journal);
      const next = await sending(rig.journal);
      await rig.journal.raiseHalt(halt());
      await rig.journal.requestApproval(asked);
      expect(await rig.journal.clearHalts(scope, { ...asAsked, approval }, late)).toBe('fenced');
      const bound = { ...asAsked, approval, ofSomeAccounts: true } as const;
      expect(await rig.journal.clearHalts(scope, bound, fence)).toBe('kept');
      const change = { accountId: 'acct-1', bounds: { maxQuantity: '5' }, ...asAsked, requestId: 'r', approval };
      expect(await rig.journal.changeLimits({ ...change, before: { maxQuantity: '4' } })).toBe(false);
      const { commandId, version } = command;
      const step = { commandId, version, to: 'rejected', atMs: atMs + 30, evidence: [], approval } as const;
      expect(await rig.journal.step(step, late)).toEqual({ kind: 'fenced' });
      expect(await rig.journal.step({ ...step, version: version - 1 }, fence)).toEqual({ kind: 'stale', command });
      expect(await rig.journal.approvals()).toEqual([waiting(asked)]);
      expect(await rig.journal.step(step, fence)).toMatchObject({ kind: 'stepped', command: { state: 'rejected' } });
      expect(await rig.journal.approvals()).toEqual([]);
      expect(await rig.journal.step({ ...answered(next, 'unknown'), approval }, fence)).toEqual({
        kind: 'not_waiting',
      });
      expect(await rig.journal.changeLimits({ ...change, before: {} })).toBe('not_waiting');
      expect(await rig.journal.limits()).toEqual([]);
      expect(await rig.journal.clearHalts(scope, { ...asAsked, approval }, fence)).toBe('not_waiting');
      expect(await rig.journal.find(next.commandId)).toMatchObject({ state: 'open' });
    });
  });
}
