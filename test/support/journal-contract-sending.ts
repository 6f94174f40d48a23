import { describe, expect, it } from 'vitest';
import { atMs, attemptId, fence, type JournalUnderTest, newPlace, unknown } from './journal-fixtures.ts';

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
      expect((await rig.journal.evidenceOf(asked.commandId)).map(({ code }) => code)).toEqual(['prepared', 'sending']);
      expect(await rig.events()).toHaveLength(1);
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
