import { describe, expect, it } from 'vitest';
import type { NewCommand } from '../../../src/store/commands/command-journal.ts';
import { atMs, fence, type JournalUnderTest, newPlace, newReplace, unknown } from './journal-fixtures.ts';

const day = 86_400_000;

function newCancel(orderId: string, over: Partial<NewCommand> = {}): NewCommand {
  const { baseline } = newReplace(orderId);
  const request = { kind: 'cancel', stream: 'prediction', accountId: 'acct-1', orderId } as const;
  return newPlace({ request, orderId, ...(baseline && { baseline }), ...over });
}

export function rivalContract(make: () => Promise<JournalUnderTest>): void {
  describe('the rivals of a cancel', () => {
    it('are the other cancels of its order, over or not, but for those of which nothing can have come', async () => {
      await using rig = await make();
      const cancel = await unknown(rig.journal, newCancel('o-1'));
      const open = newCancel('o-1', { atMs: atMs + 1 });
      await rig.journal.open(open, fence);
      const over = await unknown(rig.journal, newCancel('o-1', { atMs: atMs + 2 }), { to: 'rejected' });
      await unknown(rig.journal, newCancel('o-1'), { to: 'refused' });
      await unknown(rig.journal, newCancel('o-1'), { to: 'not_sent' });
      await unknown(rig.journal, newCancel('o-2'));
      await unknown(rig.journal, newReplace('o-1'));
      const rivals = [open.commandId, over.commandId].sort();
      expect(await rig.journal.rivals([cancel.commandId])).toEqual(
        rivals.map((rivalId) => ({ commandId: cancel.commandId, rivalId })),
      );
    });

    it('are not those that were over a day before it was opened', async () => {
      await using rig = await make();
      await unknown(rig.journal, newCancel('o-1', { atMs: atMs - 3 * day }), { to: 'rejected', atMs: atMs - 2 * day });
      const hour = await unknown(rig.journal, newCancel('o-1'), { to: 'rejected', atMs: atMs - 3_600_000 });
      const cancel = await unknown(rig.journal, newCancel('o-1', { atMs: atMs + 1 }));
      expect(await rig.journal.rivals([cancel.commandId])).toEqual([
        { commandId: cancel.commandId, rivalId: hour.commandId },
      ]);
    });

    it('are the replaces that one of them was sent in place of, but for those of which nothing can have come', async () => {
      await using rig = await make();
      const replace = await unknown(rig.journal, newReplace('o-1'), { presumedAbsent: true });
      const superseding = (step: Parameters<typeof unknown>[2]) =>
        unknown(rig.journal, newReplace('o-1', { supersedes: replace.commandId }), step);
      const refused = await superseding({ to: 'refused' });
      await superseding({ to: 'not_sent' });
      const over = await superseding({ to: 'rejected' });
      await unknown(rig.journal, newReplace('o-1'));
      expect(await rig.journal.rivals([replace.commandId])).toEqual([
        { commandId: replace.commandId, rivalId: over.commandId },
      ]);
      expect(await rig.journal.rivals([over.commandId])).toEqual([
        { commandId: over.commandId, rivalId: replace.commandId },
      ]);
      const ofRefused = [replace.commandId, over.commandId].sort();
      expect(await rig.journal.rivals([refused.commandId])).toEqual(
        ofRefused.map((rivalId) => ({ commandId: refused.commandId, rivalId })),
      );
    });

    it('are also those that supersede one which superseded it, whatever became of that one', async () => {
      await using rig = await make();
      const absent = { presumedAbsent: true };
      const first = await unknown(rig.journal, newReplace('o-1'), absent);
      const second = await unknown(rig.journal, newReplace('o-1', { supersedes: first.commandId }), absent);
      const third = await unknown(rig.journal, newReplace('o-1', { supersedes: second.commandId }));
      const notSent = { commandId: second.commandId, version: second.version, to: 'not_sent' } as const;
      await rig.journal.step({ ...notSent, evidence: [], atMs: atMs + 5 }, fence);
      const asked = [first.commandId, third.commandId].sort();
      expect(await rig.journal.rivals(asked)).toEqual(
        asked.map((commandId, at) => ({ commandId, rivalId: asked[1 - at] })),
      );
    });

    it('are none of a place or replace, and of what is no command', async () => {
      await using rig = await make();
      const replace = await unknown(rig.journal, newReplace('o-1'));
      const place = await unknown(rig.journal);
      await unknown(rig.journal, newCancel('o-1'));
      expect(await rig.journal.rivals([replace.commandId, place.commandId, 'nobody'])).toEqual([]);
      expect(await rig.journal.rivals([])).toEqual([]);
    });
  });
}
