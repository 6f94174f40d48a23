import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  answer,
  answered,
  atMs,
  attemptId,
  fence,
  type JournalUnderTest,
  newPlace,
  newReplace,
  sending,
  unknown,
} from './journal-fixtures.ts';

export function stepContract(make: () => Promise<JournalUnderTest>): void {
  describe('a step', () => {
    it('writes the command, its attempt, the evidence and the event', async () => {
      await using rig = await make();
      const command = await sending(rig.journal);
      const seenPendingAt = { revision: 4, sourceVersion: 9_007_199_254_740_995n };
      const step = answered(command, 'unknown', {
        reason: { code: 'TIMEOUT', message: 'no answer', status: 504 },
        ...{ misses: 2, presumedAbsent: true, seenPendingAt, orderId: 'o-1' },
      });
      const result = await rig.journal.step(step, fence);
      expect(result).toMatchObject({
        kind: 'stepped',
        command: {
          ...{
            state: 'unknown',
            version: 2,
            updatedAtMs: step.atMs,
            misses: 2,
            presumedAbsent: true,
            seenPendingAt,
            orderId: 'o-1',
          },
          reason: step.reason,
          attempts: [{ state: 'unknown', sendingAtMs: atMs + 5, answeredAtMs: step.atMs }],
        },
      });
      expect(await rig.journal.find(command.commandId)).toEqual('command' in result && result.command);
      expect((await rig.evidenceOf(command.commandId)).at(-1)).toEqual({ number: 3, ...answer() });
      expect(await rig.events()).toMatchObject([{ state: 'open' }, { version: 2, state: 'unknown' }]);
    });

    it('leaves what it does not name as it was', async () => {
      await using rig = await make();
      const first = await unknown(rig.journal, newPlace(), {
        misses: 3,
        orderId: 'o-1',
        reason: { code: 'A', message: 'a' },
      });
      const step = { commandId: first.commandId, version: 2, to: 'unknown', atMs: atMs + 99, evidence: [] } as const;
      expect(await rig.journal.step(step, fence)).toEqual({
        kind: 'stepped',
        command: { ...first, version: 3, updatedAtMs: atMs + 99 },
      });
    });

    it('takes away the label of absence when it leaves unknown, and says when it was resolved', async () => {
      await using rig = await make();
      const first = await unknown(rig.journal, newPlace(), { presumedAbsent: true });
      const step = { commandId: first.commandId, version: 2, to: 'applied', atMs: atMs + 99, evidence: [] } as const;
      expect(await rig.journal.step({ ...step, presumedAbsent: false }, fence)).toMatchObject({
        command: { state: 'applied', presumedAbsent: false, resolvedAtMs: atMs + 99 },
      });
      expect(await rig.journal.unresolved(10)).toEqual([]);
    });

    it('decided on an older version is stale, gives the command as it is, and writes nothing', async () => {
      await using rig = await make();
      const command = await sending(rig.journal);
      const results = await Promise.all([
        rig.journal.step(answered(command, 'unknown'), fence),
        rig.journal.step(answered(command, 'accepted'), fence),
      ]);
      expect(results.map(({ kind }) => kind).sort()).toEqual(['stale', 'stepped']);
      const now = await rig.journal.find(command.commandId);
      expect(results).toContainEqual({ kind: 'stale', command: now });
      expect(await rig.events()).toHaveLength(2);
    });

    it('on an attempt that has moved on is stale as well', async () => {
      await using rig = await make();
      const command = await sending(rig.journal);
      const [attempt] = command.attempts;
      const move = { attemptId: attempt?.attemptId ?? '', from: 'prepared', to: 'not_sent' } as const;
      expect(await rig.journal.step(answered(command, 'not_sent', { attempt: move }), fence)).toMatchObject({
        kind: 'stale',
        command: { attempts: [{ state: 'sending' }] },
      });
    });

    it('prepares a further attempt behind one that was not sent', async () => {
      await using rig = await make();
      const command = await sending(rig.journal);
      const nextAttemptId = attemptId();
      const [first] = command.attempts;
      const attempt = { attemptId: first?.attemptId ?? '', from: 'sending', to: 'not_sent' } as const;
      const result = await rig.journal.step(
        { ...answered(command, 'not_sent'), to: 'open', attempt, nextAttemptId },
        fence,
      );
      expect(result).toMatchObject({
        kind: 'stepped',
        command: {
          state: 'open',
          attempts: [{ state: 'not_sent' }, { attemptId: nextAttemptId, number: 2, state: 'prepared' }],
        },
      });
      expect(await rig.journal.markSending(nextAttemptId, atMs, fence)).toBe(true);
    });

    it('prepares none behind one that may have been sent', async () => {
      await using rig = await make();
      for (const to of ['unknown', 'accepted'] as const) {
        const command = await sending(rig.journal);
        const step = answered(command, to);
        await expect(rig.journal.step({ ...step, to: 'open', nextAttemptId: attemptId() }, fence)).rejects.toThrow();
        expect(await rig.journal.find(command.commandId)).toMatchObject({
          version: 1,
          attempts: [{ state: 'sending' }],
        });
      }
    });

    it('that no state may take is refused, and so is one that takes back an answer', async () => {
      await using rig = await make();
      const command = await unknown(rig.journal);
      const { commandId } = command;
      const step = { commandId, version: 2, atMs, evidence: [] } as const;
      await expect(rig.journal.step({ ...step, to: 'open' }, fence)).rejects.toThrow();
      await rig.journal.step({ ...step, to: 'applied' }, fence);
      await expect(rig.journal.step({ ...step, version: 3, to: 'unknown' }, fence)).rejects.toThrow();
      const accepted = await rig.journal.step(answered(await sending(rig.journal), 'accepted'), fence);
      if (accepted.kind !== 'stepped') throw new Error(accepted.kind);
      const back = {
        attemptId: accepted.command.attempts[0]?.attemptId ?? '',
        from: 'accepted',
        to: 'not_sent',
      } as const;
      const later = { ...answered(accepted.command, 'not_sent'), to: 'accepted', attempt: back } as const;
      await expect(rig.journal.step(later, fence)).rejects.toThrow();
    });

    it('binds a second place to an id, which the platform may have given again', async () => {
      await using rig = await make();
      await unknown(rig.journal, newPlace(), { orderId: 'o-1' });
      const second = await sending(rig.journal);
      expect(await rig.journal.step(answered(second, 'unknown', { orderId: 'o-1' }), fence)).toMatchObject({
        kind: 'stepped',
      });
      expect(await rig.journal.find(second.commandId)).toMatchObject({ state: 'unknown', orderId: 'o-1' });
    });

    it('that names another order than its command is refused, and the command can be read', async () => {
      await using rig = await make();
      const command = await unknown(rig.journal, newPlace(), { orderId: 'o-1' });
      const { commandId, version } = command;
      const other = { commandId, version, to: 'applied', orderId: 'o-2', atMs: atMs + 30, evidence: [] } as const;
      await expect(rig.journal.step(other, fence)).rejects.toMatchObject({ code: 'TM010' });
      expect(await rig.journal.find(commandId)).toMatchObject({ state: 'unknown', version, orderId: 'o-1' });
    });

    it('of a replace may name the order that it has made, and then no other', async () => {
      await using rig = await make();
      const terms = { price: '192' };
      const request = { kind: 'replace', stream: 'alpaca_paper', accountId: 'acct-1', orderId: 'o-1', terms } as const;
      const command = await unknown(rig.journal, newReplace('o-1', { request }));
      const { commandId } = command;
      const step = { commandId, version: command.version, to: 'accepted', atMs: atMs + 30, evidence: [] } as const;
      await rig.journal.step({ ...step, orderId: 'o-2' }, fence);
      expect(await rig.journal.find(commandId)).toMatchObject({ state: 'accepted', orderId: 'o-2', request });
      const third = { ...step, version: step.version + 1, to: 'applied', orderId: 'o-3' } as const;
      await expect(rig.journal.step(third, fence)).rejects.toMatchObject({ code: 'TM010' });
    });

    it('of a command that nobody knows is refused', async () => {
      await using rig = await make();
      const command = await sending(rig.journal);
      await expect(
        rig.journal.step(answered({ ...command, commandId: randomUUID() }, 'unknown'), fence),
      ).rejects.toThrow();
    });
  });

  describe('evidence', () => {
    it('may be added at any time, is numbered, and is no step', async () => {
      await using rig = await make();
      const command = await unknown(rig.journal);
      await Promise.all([
        rig.journal.addEvidence(command.commandId, [
          answer('a'),
          answer('b', { attemptId: command.attempts[0]?.attemptId ?? '' }),
        ]),
        rig.journal.addEvidence(command.commandId, [answer('c')]),
      ]);
      const evidence = await rig.evidenceOf(command.commandId);
      expect(evidence.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(evidence.map(({ code }) => code)).toEqual(expect.arrayContaining(['a', 'b', 'c']));
      expect((await rig.journal.find(command.commandId))?.version).toBe(command.version);
      await expect(rig.journal.addEvidence(randomUUID(), [answer()])).rejects.toThrow();
    });

    it('counts a miss with its evidence, without a version or an event, of an unknown command only', async () => {
      await using rig = await make();
      const command = await unknown(rig.journal);
      const { commandId, version } = command;
      const events = await rig.events();
      const evidence = { kind: 'read', code: 'missed', detail: { by: 'account' }, atMs } as const;
      const other = await unknown(rig.journal, newPlace());
      const miss = { commandId, version, evidence };
      const both = [miss, { commandId: other.commandId, version: other.version, evidence }];
      expect(await rig.journal.noteMisses([miss], fence)).toEqual({
        ...{ kind: 'noted', noted: [{ commandId, misses: 1 }], moved: [] },
      });
      const counts = [
        { commandId, misses: 2 },
        { commandId: other.commandId, misses: 1 },
      ];
      const noted = await rig.journal.noteMisses(both, fence);
      expect(noted).toEqual({ kind: 'noted', noted: expect.arrayContaining(counts), moved: [] });
      expect(noted).toMatchObject({ noted: { length: 2 } });
      expect(await rig.journal.find(commandId)).toEqual({ ...command, misses: 2 });
      expect(await rig.journal.find(other.commandId)).toEqual({ ...other, misses: 1 });
      expect((await rig.evidenceOf(commandId)).slice(-2)).toMatchObject([evidence, evidence]);
      const over = await unknown(rig.journal, newPlace(), { to: 'applied' });
      const late = { commandId: over.commandId, version: over.version, evidence };
      expect(await rig.journal.noteMisses([{ ...miss, version: version - 1 }, late], fence)).toEqual({
        kind: 'noted',
        noted: [],
        moved: expect.arrayContaining([{ ...command, misses: 2 }, over]),
      });
      expect(await rig.journal.noteMisses([late, miss], fence)).toEqual({
        ...{ kind: 'noted', noted: [{ commandId, misses: 3 }], moved: [over] },
      });
      expect(await rig.journal.noteMisses([miss], { shard: 0, epoch: 9n })).toEqual({ kind: 'fenced' });
      const nowhere = { ...miss, commandId: randomUUID() };
      await expect(rig.journal.noteMisses([miss, nowhere], fence)).rejects.toThrow();
      expect((await rig.journal.find(commandId))?.misses).toBe(3);
      expect((await rig.events()).filter((event) => event.commandId === commandId)).toEqual(
        events.filter((event) => event.commandId === commandId),
      );
    });
  });
}
