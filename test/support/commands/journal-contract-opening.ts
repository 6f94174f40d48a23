import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { securitiesStreams } from '../../../src/domain/streams.ts';
import type { NewCommand } from '../../../src/store/commands/command-journal.ts';
import {
  answered,
  atMs,
  attemptId,
  fence,
  type JournalUnderTest,
  newCancel,
  newPlace,
  newReplace,
  sending,
  unknown,
} from './journal-fixtures.ts';

const dayMs = 86_400_000;

export function openContract(make: () => Promise<JournalUnderTest>): void {
  describe('opening a command', () => {
    it('journals it with attempt 1 prepared, and tells so', async () => {
      await using rig = await make();
      const asked = newPlace({ callerRef: 'my-1' });
      const { attemptId: first = '', ...rest } = asked;
      const expected = {
        ...{
          commandId: rest.commandId,
          shard: 0,
          principal: 'desk',
          idempotencyKey: rest.idempotencyKey,
          requestHash: 'hash-1',
        },
        ...{ request: rest.request, callerRef: 'my-1', state: 'open', version: 1, presumedAbsent: false, misses: 0 },
        ...{ deadlineAtMs: rest.deadlineAtMs, createdAtMs: atMs, updatedAtMs: atMs },
        attempts: [{ attemptId: first, number: 1, state: 'prepared', epoch: 1n, preparedAtMs: atMs }],
      };
      expect(await rig.journal.open(asked, fence)).toEqual({ kind: 'opened', command: expected });
      expect(await rig.journal.find(asked.commandId)).toEqual(expected);
      expect(await rig.journal.findByKey('desk', asked.idempotencyKey)).toEqual(expected);
      expect(await rig.journal.findByAttempts([first, attemptId()])).toEqual(new Map([[first, expected]]));
      expect(await rig.evidenceOf(asked.commandId)).toMatchObject([{ number: 1, kind: 'note', code: 'prepared' }]);
      expect(await rig.events()).toEqual([{ commandId: asked.commandId, version: 1, state: 'open' }]);
    });

    // Those of an added stream could not be read back: a takeover halted their accounts.
    it.each(securitiesStreams)('gives back a place and a cancel on the stream %s', async (stream) => {
      await using rig = await make();
      const { request } = newPlace();
      const place = newPlace({ request: { ...request, stream } as typeof request });
      const cancel = newCancel('o-1', { request: { kind: 'cancel', stream, accountId: 'acct-1', orderId: 'o-1' } });
      for (const asked of [place, cancel]) {
        await rig.journal.open(asked, fence);
        expect(await rig.journal.find(asked.commandId)).toMatchObject({ request: asked.request, state: 'open' });
      }
    });

    it('as sending journals it with its one attempt sending, in the same step', async () => {
      await using rig = await make();
      const asked = newPlace({ sendingAtMs: atMs + 7 });
      const { attemptId: first = '', commandId } = asked;
      const attempt = { attemptId: first, number: 1, state: 'sending', epoch: 1n, preparedAtMs: atMs };
      const opened = await rig.journal.open(asked, fence);
      expect(opened).toMatchObject({ kind: 'opened', command: { state: 'open', version: 1, createdAtMs: atMs } });
      const command = await rig.journal.find(commandId);
      expect(command?.attempts).toEqual([{ ...attempt, sendingAtMs: atMs + 7 }]);
      expect(opened).toEqual({ kind: 'opened', command });
      expect(await rig.evidenceOf(commandId)).toMatchObject([
        { number: 1, kind: 'note', code: 'sending', attemptId: first, atMs: atMs + 7 },
      ]);
      expect(await rig.events()).toEqual([{ commandId, version: 1, state: 'open' }]);
      expect(await rig.journal.markSending(first, atMs + 9, fence), 'it was permitted once').toBe(false);
    });

    it('as sending fifty times at once with one key lets one be sent', async () => {
      await using rig = await make();
      const idempotencyKey = randomUUID();
      const asked = Array.from({ length: 50 }, () => newPlace({ idempotencyKey, sendingAtMs: atMs }));
      const results = await Promise.all(asked.map((each) => rig.journal.open(each, fence)));
      expect(results.map(({ kind }) => kind).sort()).toEqual(['opened', ...Array(49).fill('replayed')]);
      const attempts = await rig.journal.findByAttempts(asked.map(({ attemptId: id = '' }) => id));
      expect(attempts.size).toBe(1);
    });

    it('as sending under another epoch is fenced, and a takeover finds what was opened so unknown', async () => {
      await using rig = await make();
      const asked = newPlace({ sendingAtMs: atMs });
      expect(await rig.journal.open(asked, { ...fence, epoch: 2n })).toEqual({ kind: 'fenced' });
      await rig.journal.open(asked, fence);
      const [taken] = await rig.journal.takeOver({ ...fence, epoch: 2n }, atMs + 50, 0);
      expect(taken).toMatchObject({ state: 'unknown', version: 2, attempts: [{ state: 'unknown' }] });
    });

    it('keeps every digit of a baseline', async () => {
      await using rig = await make();
      const asked = newReplace('p-1');
      const opened = await rig.journal.open(asked, fence);
      expect(opened).toMatchObject({ kind: 'opened', command: { orderId: 'p-1', baseline: asked.baseline } });
      expect((await rig.journal.find(asked.commandId))?.baseline).toEqual(asked.baseline);
    });

    it('that we refuse after all is journaled as refused, without an attempt', async () => {
      await using rig = await make();
      const { attemptId: _none, ...asked } = newPlace({ refusal: { code: 'LATE', message: 'no' } });
      expect(await rig.journal.open(asked, fence)).toMatchObject({
        kind: 'opened',
        command: { state: 'refused', attempts: [], resolvedAtMs: atMs, reason: { code: 'LATE' } },
      });
      expect(await rig.journal.unresolved(10)).toEqual([]);
    });

    it('again with the same key and request gives the command as it is now, and writes nothing', async () => {
      await using rig = await make();
      const asked = newPlace();
      const command = await unknown(rig.journal, asked);
      const again = newPlace({ idempotencyKey: asked.idempotencyKey });
      expect(await rig.journal.open(again, fence)).toEqual({ kind: 'replayed', command });
      expect(await rig.journal.find(again.commandId)).toBeUndefined();
      expect(await rig.events()).toHaveLength(2);
    });

    it('with a used key and another request is refused; the same key of another principal is another key', async () => {
      await using rig = await make();
      const asked = newPlace();
      await rig.journal.open(asked, fence);
      const other = { idempotencyKey: asked.idempotencyKey, requestHash: 'hash-2' };
      expect(await rig.journal.open(newPlace(other), fence)).toEqual({ kind: 'key_reused' });
      expect(await rig.journal.open(newPlace({ ...other, principal: 'bot' }), fence)).toMatchObject({ kind: 'opened' });
    });

    it('with a reference that its principal has used is refused where references are used once, whatever became of the first', async () => {
      await using rig = await make();
      const first = newPlace({ callerRef: 'ref-1' });
      await rig.journal.open(first, fence);
      const again = (over: Partial<NewCommand> = {}) =>
        rig.journal.open(newPlace({ callerRef: 'ref-1', ...over }), fence);
      const once = { callerRefOnce: true } as const;
      expect(await again({ ...once, idempotencyKey: first.idempotencyKey })).toMatchObject({ kind: 'replayed' });
      const refused = newPlace({ callerRef: 'ref-1', ...once });
      expect(await rig.journal.open(refused, fence)).toEqual({ kind: 'caller_ref_reused' });
      expect(await rig.journal.find(refused.commandId)).toBeUndefined();
      expect(await again({ ...once, principal: 'bot' })).toMatchObject({ kind: 'opened' });
      expect(await again({ ...once, callerRef: 'ref-2' })).toMatchObject({ kind: 'opened' });
      expect(await again()).toMatchObject({ kind: 'opened' });
    });

    it('twenty times at once with one reference is one command where references are used once', async () => {
      await using rig = await make();
      const asked = Array.from({ length: 20 }, () => newPlace({ callerRef: 'ref-1', callerRefOnce: true }));
      const kinds = (await Promise.all(asked.map((each) => rig.journal.open(each, fence)))).map(({ kind }) => kind);
      expect(kinds.sort()).toEqual([...Array(19).fill('caller_ref_reused'), 'opened']);
    });

    it('fifty times at once with one key is one command and 49 replays of it', async () => {
      await using rig = await make();
      const idempotencyKey = randomUUID();
      const results = await Promise.all(
        Array.from({ length: 50 }, () => rig.journal.open(newPlace({ idempotencyKey }), fence)),
      );
      const kinds = results.map(({ kind }) => kind).sort();
      expect(kinds).toEqual(['opened', ...Array(49).fill('replayed')]);
      expect(new Set(results.map((each) => ('command' in each ? each.command.commandId : '')))).toHaveProperty(
        'size',
        1,
      );
      expect(await rig.journal.unresolved(100)).toHaveLength(1);
    });

    it('may use a key again once its command is final and seven days old, not before', async () => {
      await using rig = await make();
      const { attemptId: _none, ...refused } = newPlace({ refusal: { code: 'NO', message: 'no' } });
      const unresolved = newPlace();
      for (const first of [refused, unresolved]) await rig.journal.open(first, fence);
      const again = (first: NewCommand, days: number) =>
        rig.journal.open(
          newPlace({ idempotencyKey: first.idempotencyKey, requestHash: 'hash-2', atMs: atMs + days * dayMs }),
          fence,
        );
      expect(await again(refused, 6.9)).toEqual({ kind: 'key_reused' });
      expect(await again(unresolved, 7.1)).toEqual({ kind: 'key_reused' });
      expect(await again(refused, 7.1)).toMatchObject({ kind: 'opened' });
      expect(await rig.journal.find(refused.commandId)).toMatchObject({ state: 'refused' });
    });

    it('may not use the key of a command that was resolved late within seven days of that', async () => {
      await using rig = await make();
      const late = newPlace({ atMs: atMs - 8 * dayMs });
      await unknown(rig.journal, late, { to: 'applied' });
      const again = (days: number) =>
        rig.journal.open(
          newPlace({ idempotencyKey: late.idempotencyKey, requestHash: late.requestHash, atMs: atMs + days * dayMs }),
          fence,
        );
      expect(await again(6.9)).toMatchObject({ kind: 'replayed', command: { commandId: late.commandId } });
      expect(await again(7.1)).toMatchObject({ kind: 'opened' });
    });

    it('that supersedes passes once, and only behind a presumed absent one', async () => {
      await using rig = await make();
      const first = await unknown(rig.journal);
      const successor = () => newPlace({ supersedes: first.commandId });
      expect(await rig.journal.open(successor(), fence)).toEqual({ kind: 'not_superseded' });
      const absent = {
        commandId: first.commandId,
        version: first.version,
        to: 'unknown',
        presumedAbsent: true,
      } as const;
      await rig.journal.step({ ...absent, atMs, evidence: [] }, fence);
      const passing = successor();
      const results = await Promise.all(
        [passing, successor(), successor()].map((each) => rig.journal.open(each, fence)),
      );
      expect(results.map(({ kind }) => kind).sort()).toEqual(['not_superseded', 'not_superseded', 'opened']);
      expect(await rig.journal.open(newPlace({ supersedes: randomUUID() }), fence)).toEqual({ kind: 'not_superseded' });
    });

    it.each(['not_sent', 'refused'] as const)(
      'that supersedes passes again behind a successor that ended %s',
      async (end) => {
        await using rig = await make();
        const first = await unknown(rig.journal, newPlace(), { presumedAbsent: true });
        const successor = () => newPlace({ supersedes: first.commandId });
        const sent = await sending(rig.journal, successor());
        expect(await rig.journal.open(successor(), fence)).toEqual({ kind: 'not_superseded' });
        await rig.journal.step(answered(sent, end), fence);
        const results = await Promise.all([1, 2, 3].map(() => rig.journal.open(successor(), fence)));
        expect(results.map(({ kind }) => kind).sort()).toEqual(['not_superseded', 'not_superseded', 'opened']);
      },
    );

    it.each(['unknown', 'accepted'] as const)(
      'that supersedes does not pass behind a successor that is %s',
      async (state) => {
        await using rig = await make();
        const first = await unknown(rig.journal, newPlace(), { presumedAbsent: true });
        const sent = await sending(rig.journal, newPlace({ supersedes: first.commandId }));
        await rig.journal.step(answered(sent, state), fence);
        expect(await rig.journal.open(newPlace({ supersedes: first.commandId }), fence)).toEqual({
          kind: 'not_superseded',
        });
      },
    );

    it('that superseded is replayed under its own key', async () => {
      await using rig = await make();
      const first = await unknown(rig.journal, newPlace(), { presumedAbsent: true });
      const successor = newPlace({ supersedes: first.commandId });
      expect(await rig.journal.open(successor, fence)).toMatchObject({
        kind: 'opened',
        command: { supersedes: first.commandId },
      });
      expect(await rig.journal.open({ ...successor, commandId: randomUUID() }, fence)).toMatchObject({
        kind: 'replayed',
      });
    });

    it('refuses an attempt id that does not begin as ours do, or that was used', async () => {
      await using rig = await make();
      await expect(rig.journal.open(newPlace({ attemptId: 'x-1' }), fence)).rejects.toThrow();
      const asked = newPlace();
      await rig.journal.open(asked, fence);
      await expect(rig.journal.open(newPlace({ attemptId: asked.attemptId ?? '' }), fence)).rejects.toThrow();
    });
  });
}
