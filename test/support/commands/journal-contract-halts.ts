import { describe, expect, it } from 'vitest';
import type { CommandJournal, HaltBounds } from '../../../src/store/commands/command-journal.ts';
import {
  accountScope,
  answered,
  atMs,
  fence,
  halt,
  type JournalUnderTest,
  newPlace,
  sending,
  service,
} from './journal-fixtures.ts';

const looked = { by: 'ann', reason: 'looked', atMs: atMs + 9 };

export function haltContract(make: () => Promise<JournalUnderTest>): void {
  describe('a halt', () => {
    it('is raised once for each scope and cause while it is active', async () => {
      await using rig = await make();
      const first = halt();
      expect(await rig.journal.raiseHalt(first)).toEqual(first);
      expect(await rig.journal.raiseHalt(halt({ reason: 'again' }))).toEqual(first);
      const others = [
        halt({ cause: 'rate', sinceMs: atMs + 1 }),
        halt({ scope: { kind: 'service' }, sinceMs: atMs + 2 }),
      ];
      for (const other of others) expect(await rig.journal.raiseHalt(other)).toEqual(other);
      expect(await rig.journal.activeHalts()).toEqual([first, ...others]);
    });

    it('is cleared by scope, and may be raised anew', async () => {
      await using rig = await make();
      const ofService = halt({ scope: { kind: 'service' } });
      for (const each of [halt(), halt({ cause: 'rate' }), ofService]) await rig.journal.raiseHalt(each);
      const scope = { kind: 'account', accountId: 'acct-1' } as const;
      expect(await rig.journal.clearHalts(scope, looked, fence)).toBe(2);
      expect(await rig.journal.activeHalts()).toEqual([ofService]);
      expect(await rig.journal.clearHalts(scope, looked, fence)).toBe(0);
      const anew = halt();
      expect(await rig.journal.raiseHalt(anew)).toEqual(anew);
    });

    it('of an operator for every account is kept, and all beside it, where the token names some', async () => {
      await using rig = await make();
      const scope = { kind: 'account', accountId: 'acct-1' } as const;
      const own = halt({ cause: 'account_operator' });
      const ops = halt({ sinceMs: atMs + 1 });
      const bound = { ...looked, ofSomeAccounts: true } as const;
      await rig.journal.raiseHalt(own);
      expect(await rig.journal.raiseHalt(ops)).toEqual(ops);
      expect(await rig.journal.clearHalts(scope, bound, fence)).toBe('kept');
      expect(await rig.journal.activeHalts()).toEqual([own, ops]);
      expect(await rig.journal.clearHalts(scope, looked, fence)).toBe(2);
      await rig.journal.raiseHalt(halt({ cause: 'account_operator' }));
      expect(await rig.journal.clearHalts(scope, bound, fence)).toBe(1);
    });
  });

  describe('a step to doubt', () => {
    it('halts its account and the service at their bounds, in its own commit, and says so', async () => {
      await using rig = await make();
      const haltAt = { account: 2, service: 3 };
      // Opened first: behind the halt of the service nothing is marked.
      const sent = [];
      for (const accountId of ['acct-1', 'acct-1', 'acct-2', 'acct-2'])
        sent.push(await sending(rig.journal, placeIn(accountId)));
      const raised = [];
      for (const command of sent) {
        const step = { ...answered(command, 'unknown'), haltAt: { ...haltAt, account: raised.length < 3 ? 2 : 3 } };
        const result = await rig.journal.step(step, fence);
        raised.push(result.kind === 'stepped' ? result.halts : result);
      }
      expect(raised).toEqual([
        undefined,
        [expect.objectContaining({ scope: accountScope('acct-1'), cause: 'unresolved', by: 'tidemark' })],
        [expect.objectContaining({ scope: service, reason: '3 commands have a result that is not known' })],
        undefined,
      ]);
      expect(await rig.journal.activeHalts()).toHaveLength(2);
    });

    it('halts again behind a resume, for a further command only', async () => {
      await using rig = await make();
      const haltAt = { account: 1, service: 10 };
      const command = await unknownOf(rig.journal, 'acct-1', haltAt);
      await rig.journal.clearHalts(accountScope('acct-1'), looked, fence);
      const { commandId, version } = command;
      const still = { commandId, version, to: 'conflict', atMs, evidence: [], haltAt, orderId: 'o-1' } as const;
      expect(await rig.journal.step(still, fence), 'from doubt to doubt').not.toHaveProperty('halts');
      expect(await doubt(rig.journal, 'acct-1', haltAt)).toHaveLength(1);
    });

    it('that is not made halts nothing', async () => {
      await using rig = await make();
      const command = await sending(rig.journal);
      const step = { ...answered(command, 'unknown'), haltAt: { account: 1, service: 1 } };
      expect(await rig.journal.step({ ...step, version: 7 }, fence)).toMatchObject({ kind: 'stale' });
      expect(await rig.journal.step(step, { ...fence, epoch: 9n })).toEqual({ kind: 'fenced' });
      expect(await rig.journal.activeHalts()).toEqual([]);
    });

    it('of an order that landed late halts its account', async () => {
      await using rig = await make();
      const { commandId, version } = await unknownOf(rig.journal, 'acct-1', { account: 9, service: 9 });
      const landed = {
        commandId,
        version,
        to: 'applied',
        orderId: 'o-1',
        atMs,
        evidence: [],
        lateLanding: 'late',
      } as const;
      expect(await rig.journal.step(landed, fence)).toMatchObject({
        halts: [{ cause: 'late_landing', scope: accountScope('acct-1'), reason: 'late' }],
      });
    });
  });

  describe('a takeover', () => {
    it('halts for what its sweep makes unknown, once, and for nothing that was so before', async () => {
      await using rig = await make();
      const haltAt = { account: 2, service: 100 };
      for (const _ of [1, 2]) await sending(rig.journal, placeIn('acct-1'));
      for (const _ of [1, 2]) await unknownOf(rig.journal, 'acct-2', { account: 100, service: 100 });
      for (const _ of [1, 2]) await rig.journal.takeOver({ ...fence, epoch: 2n }, atMs + 50, 0, haltAt);
      expect(await rig.journal.activeHalts()).toMatchObject([{ cause: 'unresolved', scope: accountScope('acct-1') }]);
      await rig.journal.clearHalts(accountScope('acct-1'), looked, { ...fence, epoch: 2n });
      await rig.journal.takeOver({ ...fence, epoch: 3n }, atMs + 90, 0, haltAt);
      expect(await rig.journal.activeHalts(), 'a person has seen the same commands').toEqual([]);
    });
  });
}

function placeIn(accountId: string) {
  const asked = newPlace();
  return newPlace({ request: { ...asked.request, accountId } as typeof asked.request });
}

async function unknownStep(journal: CommandJournal, accountId: string, haltAt: HaltBounds) {
  const command = await sending(journal, placeIn(accountId));
  const result = await journal.step({ ...answered(command, 'unknown'), haltAt }, fence);
  if (result.kind !== 'stepped') throw new Error(result.kind);
  return result;
}

/** The halts that a place whose result gets unknown raises. */
async function doubt(journal: CommandJournal, accountId: string, haltAt: HaltBounds) {
  return (await unknownStep(journal, accountId, haltAt)).halts;
}

async function unknownOf(journal: CommandJournal, accountId: string, haltAt: HaltBounds) {
  return (await unknownStep(journal, accountId, haltAt)).command;
}
