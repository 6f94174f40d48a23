import { describe, expect, it } from 'vitest';
import type { NewCommand } from '../../../src/store/commands/command-journal.ts';
import {
  atMs,
  attemptId,
  fence,
  halt,
  type JournalUnderTest,
  newCancel,
  newPlace,
  newReplace,
  unknown,
} from './journal-fixtures.ts';

export function sendContract(make: () => Promise<JournalUnderTest>): void {
  describe('marking an attempt as sending', () => {
    it('is permitted once, and is no step', async () => {
      await using rig = await make();
      const asked = newPlace();
      const id = asked.attemptId ?? '';
      await rig.journal.open(asked, fence);
      const marks = await Promise.all(Array.from({ length: 5 }, () => rig.journal.markSending(id, atMs + 5, fence)));
      expect(marks.filter(Boolean)).toHaveLength(1);
      expect(await rig.journal.find(asked.commandId)).toMatchObject({
        state: 'open',
        version: 1,
        attempts: [{ state: 'sending', sendingAtMs: atMs + 5 }],
      });
      expect((await rig.evidenceOf(asked.commandId)).map(({ code }) => code)).toEqual(['prepared', 'sending']);
      expect(await rig.events()).toHaveLength(1);
    });

    it('by the opening is left out while its account or the service is halted, but for a cancel', async () => {
      await using rig = await make();
      const stateOf = async (asked: NewCommand) => {
        const result = await rig.journal.open({ ...asked, sendingAtMs: atMs }, fence);
        return result.kind === 'opened' ? result.command.attempts[0]?.state : result.kind;
      };
      const word = { by: 'ann', reason: 'looked', atMs: atMs + 9 };
      await rig.journal.raiseHalt(halt({ scope: { kind: 'account', accountId: 'acct-2' } }));
      expect(await stateOf(newPlace()), 'another account is halted').toBe('sending');
      for (const scope of [{ kind: 'account', accountId: 'acct-1' }, { kind: 'service' }] as const) {
        await rig.journal.raiseHalt(halt({ scope }));
        const held = newPlace();
        expect(await stateOf(held)).toBe('prepared');
        expect((await rig.evidenceOf(held.commandId)).map(({ code }) => code)).toEqual(['prepared']);
        const why = await rig.journal.markSending(held.attemptId ?? '', atMs + 5, fence);
        expect(why).toMatchObject({ code: 'PLACING_HALTED' });
        expect(await stateOf(newReplace('p-1'))).toBe('prepared');
        expect(await stateOf(newCancel('p-1'))).toBe('sending');
        await rig.journal.clearHalts(scope, word, fence);
        expect(await stateOf(newPlace()), 'resumed').toBe('sending');
      }
    });

    it('is refused with the reason while its account or the service is halted, but for a cancel', async () => {
      await using rig = await make();
      const [first, second, other] = [newPlace(), newPlace(), newPlace()];
      const cancel = newCancel('p-1');
      for (const each of [first, second, other, cancel]) await rig.journal.open(each, fence);
      const mark = ({ attemptId: id = '' }: typeof first) => rig.journal.markSending(id, atMs + 5, fence);
      await rig.journal.raiseHalt(halt({ scope: { kind: 'account', accountId: 'acct-2' } }));
      expect(await mark(other), 'another account is halted').toBe(true);
      for (const scope of [{ kind: 'account', accountId: 'acct-1' }, { kind: 'service' }] as const) {
        await rig.journal.raiseHalt(halt({ scope }));
        expect(await mark(first)).toEqual({ code: 'PLACING_HALTED', message: 'placing was halted (operator): lunch' });
        await rig.journal.clearHalts(scope, { by: 'ann', reason: 'looked', atMs: atMs + 9 }, fence);
        await rig.journal.raiseHalt(halt({ scope: { kind: 'service' }, cause: 'rate' }));
        expect(await mark(second)).toMatchObject({ code: 'PLACING_HALTED' });
        await rig.journal.clearHalts({ kind: 'service' }, { by: 'ann', reason: 'looked', atMs: atMs + 9 }, fence);
      }
      await rig.journal.raiseHalt(halt());
      expect(await mark(cancel)).toBe(true);
      expect(await rig.journal.find(first.commandId)).toMatchObject({ attempts: [{ state: 'prepared' }] });
    });

    it('is not permitted for an attempt that nobody knows, that was answered, or under another epoch', async () => {
      await using rig = await make();
      expect(await rig.journal.markSending(attemptId(), atMs, fence)).toBe(false);
      const done = await unknown(rig.journal);
      expect(await rig.journal.markSending(done.attempts[0]?.attemptId ?? '', atMs, fence)).toBe(false);
      const asked = newPlace();
      await rig.journal.open(asked, fence);
      for (const epoch of [0n, 2n]) {
        expect(await rig.journal.markSending(asked.attemptId ?? '', atMs, { shard: 0, epoch })).toBe(false);
      }
    });
  });
}
