import { describe, expect, it } from 'vitest';
import { encodeCommandOutcome } from '../../../src/domain/encode-command-outcome.ts';
import { keyOfCancel } from '../../../src/store/commands/cancel-all-journal.ts';
import { PostgresOutcomeLog } from '../../../src/store/commands/outcome-log.ts';
import { maintainCommands } from '../../../src/store/maintenance.ts';
import {
  fence,
  newCancel,
  newCancelAll,
  newPlace,
  newReplace,
  sending,
  unknown,
} from '../../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig } from '../../support/commands/journal-rig.ts';

const hourMs = 3_600_000;

describe('the outbox of outcomes', () => {
  it('has the command as it was after each step, in order, until it is marked', async () => {
    await using rig = await journalRig();
    const log = new PostgresOutcomeLog(rig.deps);
    const asked = newReplace('p-1', { callerRef: 'my-1' });
    const opened = await rig.journal.open(asked, fence);
    await rig.journal.markSending(asked.attemptId ?? '', asked.atMs, fence);
    const sent = await rig.journal.find(asked.commandId);
    const attempt = { attemptId: asked.attemptId ?? '', from: 'sending', to: 'unknown' } as const;
    await rig.journal.step(
      { commandId: asked.commandId, version: 1, to: 'unknown', atMs: 9, evidence: [], attempt },
      fence,
    );
    const after = await rig.journal.find(asked.commandId);
    if (opened.kind !== 'opened' || sent === undefined || after === undefined) throw new Error('it is not there');
    const events = await log.readUnpublished(10, [0]);
    expect(events).toEqual(
      [opened.command, after].map((command, i) => ({
        ...{
          id: events[i]?.id,
          key: asked.commandId,
          version: command.version,
          payload: encodeCommandOutcome(command),
          recordedMs: expect.any(Number),
        },
      })),
    );
    expect(await log.readUnpublished(10, [1, 2]), 'of other shards').toEqual([]);
    expect(await log.readUnpublished(1, [0])).toEqual(events.slice(0, 1));
    await log.markPublished(events.slice(0, 1));
    expect(await log.readUnpublished(10, [0])).toEqual(events.slice(1));
    await log.markPublished(events);
    await log.markPublished([]);
    expect(await log.readUnpublished(10, [0])).toEqual([]);
  });

  it('shows a step that committed late, though later ones were published already', async () => {
    await using rig = await journalRig();
    const log = new PostgresOutcomeLog(rig.deps);
    const slow = await rig.rival();
    const late = newPlace();
    await slow.query('begin');
    await slow.query('select open_command(0, 1, $1)', [JSON.stringify(late)]);
    await rig.journal.open(newPlace(), fence);
    const [first] = await log.readUnpublished(10, [0]);
    await log.markPublished(first === undefined ? [] : [first]);
    await slow.query('commit');
    const [found, ...rest] = await log.readUnpublished(10, [0]);
    expect([found?.key, rest]).toEqual([late.commandId, []]);
    expect((found?.id ?? 0n) < (first?.id ?? 0n)).toBe(true);
  });
});

describe('keeping the journal', () => {
  const age = (rig: JournalRig, days: number) =>
    rig.pool.query(`begin; set local session_replication_role = replica;
      update commands set created_at = now() - interval '${days} days'; update command_events set recorded_at = now() - interval '${days} days'; commit`);

  it('forgets events that were published long ago, and no others', async () => {
    await using rig = await journalRig();
    const log = new PostgresOutcomeLog(rig.deps);
    await unknown(rig.journal);
    await sending(rig.journal);
    const [first] = await log.readUnpublished(10, [0]);
    await log.markPublished(first === undefined ? [] : [first]);
    expect(await maintainCommands(rig.pool, { retentionMs: hourMs })).toEqual({ forgotten: 0, freedKeys: 0 });
    await age(rig, 1);
    expect(await maintainCommands(rig.pool, { retentionMs: hourMs })).toEqual({ forgotten: 1, freedKeys: 0 });
    expect(await log.readUnpublished(10, [0])).toHaveLength(2);
  });

  it('frees the keys of final commands after seven days, and keeps those commands', async () => {
    await using rig = await journalRig();
    const final = newPlace();
    const open = newPlace();
    await unknown(rig.journal, final, { to: 'applied' });
    await unknown(rig.journal, open);
    await age(rig, 6);
    expect((await maintainCommands(rig.pool, { retentionMs: hourMs })).freedKeys).toBe(0);
    await age(rig, 8);
    expect(await rig.journal.findByKey('desk', final.idempotencyKey)).toBeUndefined();
    expect((await maintainCommands(rig.pool, { retentionMs: hourMs })).freedKeys).toBe(1);
    expect((await maintainCommands(rig.pool, { retentionMs: hourMs })).freedKeys).toBe(0);
    expect(await rig.journal.findByKey('desk', open.idempotencyKey)).toMatchObject({ commandId: open.commandId });
    expect(await rig.journal.find(final.commandId)).toMatchObject({ state: 'applied' });
    const again = newPlace({ idempotencyKey: final.idempotencyKey, atMs: Date.now() });
    expect(await rig.journal.open(again, fence)).toMatchObject({ kind: 'opened' });
  });

  it('frees the key of a cancel-all after seven days, once it has ended and its cancels are final, and keeps its list', async () => {
    await using rig = await journalRig();
    const [done, underWay] = [newCancelAll(), newCancelAll()];
    for (const each of [done, underWay]) {
      await rig.journal.openCancelAll(each, fence);
      await rig.journal.endCancelAll(each.cancelAllId, each.atMs, fence);
    }
    const inForce = newCancelAll();
    await rig.journal.openCancelAll(inForce, fence);
    await unknown(rig.journal, newCancel('p-1', { idempotencyKey: keyOfCancel(underWay, 1) }));
    const aged = (days: number) =>
      rig.pool.query(
        `begin; set local session_replication_role = replica; update cancel_alls set created_at = now() - interval '${days} days'; commit`,
      );
    await aged(6);
    expect((await maintainCommands(rig.pool, { retentionMs: hourMs })).freedKeys).toBe(0);
    await aged(8);
    expect(await rig.journal.findCancelAll(0, 'desk', done.idempotencyKey)).toBeUndefined();
    expect((await maintainCommands(rig.pool, { retentionMs: hourMs })).freedKeys).toBe(1);
    expect(await rig.journal.findCancelAll(0, 'desk', underWay.idempotencyKey)).toMatchObject({
      orders: underWay.orders,
    });
    expect(await rig.journal.findCancelAll(0, 'desk', inForce.idempotencyKey)).toMatchObject({
      orders: inForce.orders,
    });
    expect(await rig.rows('select key_held from cancel_alls order by key_held')).toEqual([
      { key_held: false },
      { key_held: true },
      { key_held: true },
    ]);
  });
});
