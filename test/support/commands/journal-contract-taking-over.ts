import { describe, expect, it } from 'vitest';
import type { Fence } from '../../../src/store/commands/term.ts';
import {
  answer,
  answered,
  atMs,
  fence,
  type JournalUnderTest,
  newPlace,
  sending,
  unknown,
} from './journal-fixtures.ts';

export function takeOverContract(make: () => Promise<JournalUnderTest>): void {
  const next: Fence = { shard: 0, epoch: 2n };

  describe('taking over', () => {
    it('makes unknown what was being sent, not_sent what was prepared, and tells both', async () => {
      await using rig = await make();
      const wasSending = await sending(rig.journal);
      const prepared = newPlace({ atMs: atMs + 1 });
      await rig.journal.open(prepared, fence);
      const commands = await rig.journal.takeOver(next, atMs + 50, 60_000);
      expect(commands).toMatchObject([
        { commandId: wasSending.commandId, state: 'unknown', version: 2, attempts: [{ state: 'unknown' }] },
        {
          commandId: prepared.commandId,
          state: 'not_sent',
          version: 2,
          resolvedAtMs: atMs + 50,
          attempts: [{ state: 'not_sent' }],
        },
      ]);
      for (const { commandId } of commands) {
        expect((await rig.evidenceOf(commandId)).at(-1)).toMatchObject({ kind: 'note', code: 'taken_over' });
        expect((await rig.events()).filter((event) => event.commandId === commandId)).toHaveLength(2);
      }
    });

    it('leaves results alone, and returns what is not final and what lately became so, oldest first', async () => {
      await using rig = await make();
      const old = await unknown(rig.journal, newPlace(), { to: 'applied' });
      const accepted = await rig.journal.step(
        answered(await sending(rig.journal, newPlace({ atMs: atMs + 1 })), 'accepted'),
        fence,
      );
      const recent = await unknown(rig.journal, newPlace({ atMs: atMs + 2 }), { to: 'applied', atMs: atMs + 900 });
      const commands = await rig.journal.takeOver(next, atMs + 1_000, 200);
      expect(commands).toEqual(['command' in accepted && accepted.command, recent]);
      expect(await rig.journal.find(old.commandId)).toEqual(old);
    });

    it('keeps the result of a command that was resolved before its answer came', async () => {
      await using rig = await make();
      const { commandId } = await sending(rig.journal);
      await rig.journal.step({ commandId, version: 1, to: 'applied', atMs, evidence: [] }, fence);
      await rig.journal.takeOver(next, atMs + 50, 60_000);
      expect(await rig.journal.find(commandId)).toMatchObject({ state: 'applied', attempts: [{ state: 'unknown' }] });
    });

    it('shuts the former holder out of everything but evidence', async () => {
      await using rig = await make();
      const command = await sending(rig.journal);
      const prepared = newPlace();
      await rig.journal.open(prepared, fence);
      await rig.journal.takeOver(next, atMs, 0);
      const events = await rig.events();
      expect(await rig.journal.open(newPlace(), fence)).toEqual({ kind: 'fenced' });
      expect(await rig.journal.markSending(prepared.attemptId ?? '', atMs, fence)).toBe(false);
      expect(await rig.journal.step(answered(command, 'accepted'), fence)).toEqual({ kind: 'fenced' });
      expect(await rig.journal.clearHalts({ kind: 'service' }, { by: 'ann', reason: 'over', atMs }, fence)).toBe(
        'fenced',
      );
      await expect(rig.journal.takeOver(fence, atMs, 0)).rejects.toThrow();
      await rig.journal.addEvidence(command.commandId, [answer('accepted')]);
      expect(await rig.events()).toEqual(events);
    });

    it('again under the same epoch sweeps nothing of this epoch', async () => {
      await using rig = await make();
      await rig.journal.takeOver(next, atMs, 0);
      const command = await sending(rig.journal, newPlace(), next);
      expect(await rig.journal.takeOver(next, atMs, 0)).toMatchObject([
        { commandId: command.commandId, state: 'open', version: 1 },
      ]);
    });

    it('holds nobody else’s shard', async () => {
      await using rig = await make();
      const command = await sending(rig.journal);
      expect(await rig.journal.takeOver({ shard: 1, epoch: 7n }, atMs, 0)).toEqual([]);
      expect(await rig.journal.step(answered(command, 'accepted'), fence)).toMatchObject({ kind: 'stepped' });
    });
  });

  describe('unresolved commands', () => {
    it('are those that are not final, oldest first, at most as many as asked for', async () => {
      await using rig = await make();
      const opened = [];
      for (const late of [3, 1, 2]) opened.push(await unknown(rig.journal, newPlace({ atMs: atMs + late })));
      await unknown(rig.journal, newPlace(), { to: 'applied' });
      const oldest = [opened[1], opened[2], opened[0]];
      expect(await rig.journal.unresolved(10)).toEqual(oldest);
      expect(await rig.journal.unresolved(2)).toEqual(oldest.slice(0, 2));
      expect(await rig.journal.unresolved(2, oldest[0])).toEqual(oldest.slice(1));
      expect(await rig.journal.unresolved(1, oldest[0])).toEqual(oldest.slice(1, 2));
      expect(await rig.journal.unresolved(2, oldest[2])).toEqual([]);
      const { shard = 0 } = oldest[0] ?? {};
      expect(await rig.journal.unresolved(10, undefined, [shard])).toEqual(oldest);
      expect(await rig.journal.unresolved(10, oldest[0], [shard, shard + 1])).toEqual(oldest.slice(1));
      expect(await rig.journal.unresolved(10, undefined, [shard + 1])).toEqual([]);
    });
  });
}
