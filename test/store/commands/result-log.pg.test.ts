import { describe, expect, it } from 'vitest';
import { encodeCommandResult } from '../../../src/domain/encode-command-result.ts';
import { keyOfCancel } from '../../../src/store/commands/cancel-all-journal.ts';
import type { CommandJournal } from '../../../src/store/commands/command-journal.ts';
import { GroupCommit } from '../../../src/store/commands/group-commit.ts';
import { JournalNumbers } from '../../../src/store/commands/journal-memory.ts';
import { openingRow } from '../../../src/store/commands/journal-rows.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import { PostgresResultLog } from '../../../src/store/commands/result-log.ts';
import type { Fence } from '../../../src/store/commands/term.ts';
import { maintainCommands } from '../../../src/store/maintenance.ts';
import { JournalError } from '../../../src/store/session/write-once.ts';
import { appendIn, openIn, withoutLockTimeout } from '../../support/commands/append-in.ts';
import {
  answered,
  atMs,
  attemptId,
  fence,
  newCancel,
  newCancelAll,
  newPlace,
  newReplace,
  sending,
  unknown,
} from '../../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig, takingJournal } from '../../support/commands/journal-rig.ts';
import { predictionView } from '../../support/orders/arbitrary-orders.ts';
import { eventually } from '../../support/runs/poll.ts';

const hourMs = 3_600_000;

/** Sessions whose statement has this word, and waits for a lock. */
function waitingFor(rig: JournalRig, word: string): Promise<object[]> {
  return rig.rows(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%${word}%'`,
  );
}

describe('the outbox of results', () => {
  it('has the command as it was after each step, in order, until it is marked', async () => {
    await using rig = await journalRig();
    const log = new PostgresResultLog(rig.deps);
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
          shard: 0,
          id: events[i]?.id,
          key: asked.commandId,
          version: command.version,
          payload: encodeCommandResult(command),
          recordedMs: expect.any(Number),
        },
      })),
    );
    expect(await log.readUnpublished(10, [1, 2]), 'of other shards').toEqual([]);
    expect(await log.readUnpublished(1, [0])).toEqual(events.slice(0, 1));
    expect(await log.readUnpublished(10, [0], events.slice(0, 2)), 'behind what Kafka has').toEqual(events.slice(2));
    expect(await log.readUnpublished(10, [0]), 'it is not marked').toEqual(events);
    await log.markPublished(events.slice(0, 1));
    expect(await log.readUnpublished(10, [0])).toEqual(events.slice(1));
    await log.markPublished(events);
    await log.markPublished([]);
    expect(await log.readUnpublished(10, [0])).toEqual([]);
  });

  it('waits for a step whose number is lower and whose transaction is under way', async () => {
    await using rig = await journalRig();
    const groups = new GroupCommit(rig.deps);
    const journal = createPostgresJournal({ ...rig.deps, groups });
    const log = new PostgresResultLog({ ...rig.deps, numbers: groups.numbers });
    const late = await heldOpening(rig, journal, groups.numbers);
    const next = newPlace();
    await journal.open(next, fence);
    expect(await log.readUnpublished(10, [0])).toEqual([]);
    await late.free();
    expect((await log.readUnpublished(10, [0])).map(({ key }) => key)).toEqual([late.asked.commandId, next.commandId]);
  });

  it('says the same of a step that this process wrote, unread, as of one that it reads', async () => {
    await using rig = await journalRig();
    const groups = new GroupCommit(rig.deps);
    const journal = createPostgresJournal({ ...rig.deps, groups });
    await rig.show({ ...predictionView, orderId: 'p-1', accountId: 'acct-1', status: 'new' });
    const replaced = await unknown(journal, newReplace('p-1', { callerRef: 'my-1' }));
    const evidence = [{ kind: 'read', code: 'absent', detail: {}, atMs }] as const;
    await journal.noteMisses([{ commandId: replaced.commandId, version: 2, evidence: evidence[0] }], fence);
    const seenPendingAt = { revision: 4, sourceVersion: 9_007_199_254_740_993n };
    const absent = {
      commandId: replaced.commandId,
      version: 2,
      to: 'unknown',
      atMs: atMs + 9,
      presumedAbsent: true,
    } as const;
    await journal.step({ ...absent, seenPendingAt, evidence }, fence);
    const placed = await sending(journal);
    const again = { to: 'open', nextAttemptId: attemptId(), reason: { code: 'AGAIN', message: 'no token' } } as const;
    const notSent = answered(placed, 'not_sent');
    await journal.step({ ...notSent, ...again }, fence);
    await journal.markSending(again.nextAttemptId, atMs + 30, fence);
    const { attemptId: _none, ...cancel } = newCancel('p-1');
    await journal.open({ ...cancel, refusal: { code: 'NO', message: 'not now' } }, fence);
    const own = new PostgresResultLog({ ...rig.deps, numbers: groups.numbers });
    const rows = await own.readUnpublished(100, [0]);
    expect(rows.map(({ version }) => version)).toEqual([1, 2, 3, 1, 2, 1]);
    expect(groups.numbers.steps.size).toBe(rows.length);
    expect(await new PostgresResultLog(rig.deps).readUnpublished(100, [0])).toEqual(rows);
    expect(await own.readUnpublished(100, [0], rows)).toEqual([]);
    expect(groups.numbers.steps.size, 'of what Kafka has').toBe(0);
    await own.markPublished(rows);
    expect(groups.numbers.steps.size).toBe(0);
  });

  it('decides a number whose commit is not known: its row is there, or can not come any more', async () => {
    await using rig = await journalRig();
    const numbers = new JournalNumbers(rig.deps);
    await numbers.beginBehindOthers([0]);
    const log = new PostgresResultLog({ ...rig.deps, numbers });
    const lost = numbers.take([fence, fence]);
    numbers.close(lost, new JournalError('COMMIT_UNKNOWN', false, 'the connection broke'));
    const [seq = 0n] = lost.seqs;
    const orphan = await rig.rival();
    await orphan.query('begin');
    const place = newPlace();
    await appendIn(orphan, [openingRow(place, fence, undefined)], false, [seq]);
    const reading = log.readUnpublished(10, [0]);
    await eventually(async () => expect(await waitingFor(rig, 'void')).toHaveLength(1));
    await orphan.query('commit');
    expect((await reading).map(({ key }) => key)).toEqual([place.commandId]);
    await expect(appendIn(orphan, [openingRow(newPlace(), fence, undefined)], false, [seq + 1n])).rejects.toMatchObject(
      { code: '23505', constraint: 'journal_pkey' },
    );
  });
});

/** An opening that waits for what becomes of its key. `free` lets it go on. */
async function heldOpening(rig: JournalRig, journal: CommandJournal, numbers: JournalNumbers) {
  const other = await rig.rival();
  await withoutLockTimeout(other);
  const asked = newPlace();
  await other.query('begin');
  await openIn(other, newPlace({ idempotencyKey: asked.idempotencyKey }));
  const opening = journal.open(asked, fence);
  await eventually(async () => expect(await waitingFor(rig, 'append_journal')).toHaveLength(1));
  await eventually(() => expect(numbers.closedBelow(0)).toBeGreaterThan(1n));
  return {
    asked,
    async free() {
      await other.query('rollback');
      expect(await opening).toMatchObject({ kind: 'opened' });
    },
  };
}

describe('issue: While shards were taken, a step was published as a step of another command.', () => {
  it('publishes what the former holder of a shard wrote, whatever this process writes elsewhere meanwhile', async () => {
    await using rig = await journalRig();
    const other: Fence = { shard: 1, epoch: 1n };
    await rig.journal.takeOver(other, atMs, 0);
    const left = [newPlace(), newPlace(), newPlace()];
    for (const asked of left) await rig.journal.open(asked, other);
    const groups = new GroupCommit(rig.deps);
    const journal = takingJournal(rig.pool, createPostgresJournal({ ...rig.deps, groups }));
    await journal.takeOver(fence, atMs, 0);
    const held = await heldOpening(rig, journal, groups.numbers);
    await journal.takeOver({ ...other, epoch: 2n }, atMs, 0);
    await held.free();
    const log = new PostgresResultLog({ ...rig.deps, numbers: groups.numbers });
    const rows = await log.readUnpublished(100, [0, 1]);
    const published = rows.map(({ shard, key, version }) => `${shard} ${key} ${version}`);
    // Their openings, and the takeover's steps.
    const written = left.flatMap(({ commandId }) => [`1 ${commandId} 1`, `1 ${commandId} 2`]);
    expect(published.toSorted()).toEqual([...written, `0 ${held.asked.commandId} 1`].toSorted());
  });
});

describe('issue: While a shard was taken, a step that committed late was never published.', () => {
  it('reads a shard only once this process knows its numbers, and never beyond one under way', async () => {
    await using rig = await journalRig();
    const left = newPlace();
    await rig.journal.open(left, fence);
    const groups = new GroupCommit(rig.deps);
    const log = new PostgresResultLog({ ...rig.deps, numbers: groups.numbers });
    expect(await log.readUnpublished(10, [0]), 'the taking has no answer yet').toEqual([]);
    const journal = createPostgresJournal({ ...rig.deps, groups });
    const held = await heldOpening(rig, journal, groups.numbers);
    groups.numbers.close(
      groups.numbers.take([fence]),
      new JournalError('23505', false, { constraint: 'journal_pkey' }),
    );
    await appendIn(await rig.rival(), [openingRow(newPlace(), fence, undefined)]);
    expect(
      (await log.readUnpublished(10, [0])).map(({ key }) => key),
      'a writer was met',
    ).toEqual([left.commandId]);
    await held.free();
    expect((await log.readUnpublished(10, [0])).map(({ key }) => key)).toEqual([left.commandId, held.asked.commandId]);
  });
});

describe('keeping the journal', () => {
  const age = (rig: JournalRig, days: number) =>
    rig.pool.query(`begin; set local session_replication_role = replica;
      update journal set at = now() - interval '${days} days', resolved_at = resolved_at - interval '${days} days'; update halt_events set recorded_at = now() - interval '${days} days'; commit`);

  it('may use the key of a final command again after seven days, and keeps that command', async () => {
    await using rig = await journalRig();
    const final = newPlace();
    const open = newPlace();
    await unknown(rig.journal, final, { to: 'applied' });
    await unknown(rig.journal, open);
    await age(rig, 365);
    expect(await rig.journal.findByKey('desk', final.idempotencyKey)).toBeUndefined();
    expect(await rig.journal.findByKey('desk', open.idempotencyKey)).toMatchObject({ commandId: open.commandId });
    const again = newPlace({ idempotencyKey: final.idempotencyKey, atMs: Date.now() });
    expect(await rig.journal.open(again, fence)).toMatchObject({ kind: 'opened' });
    expect(await rig.journal.find(final.commandId)).toMatchObject({ state: 'applied' });
    expect(await rig.journal.findByKey('desk', final.idempotencyKey)).toMatchObject({ commandId: again.commandId });
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
