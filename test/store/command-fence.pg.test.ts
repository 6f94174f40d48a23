import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { createPostgresJournal } from '../../src/store/commands/postgres-journal.ts';
import { createPool } from '../../src/store/session/pool.ts';
import { markIn, openIn } from '../support/commands/append-in.ts';
import { answered, atMs, fence, newPlace, sending } from '../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig, takeShard } from '../support/commands/journal-rig.ts';
import { batch, proxiedUrl } from '../support/orders/store-rig.ts';
import { eventually } from '../support/runs/poll.ts';
import { testLog } from '../support/runs/test-log.ts';

const next = { shard: 0, epoch: 2n };

/** Until so many sessions wait for a lock. */
function blocked(rig: JournalRig, sessions: number): Promise<void> {
  return eventually(async () => {
    const rows = await rig.rows(
      "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    if (rows.length < sessions) throw new Error(`${rows.length} sessions wait for a lock`);
  });
}

describe('an orphaned transaction of the former holder', () => {
  it('that holds the fence keeps the next holder waiting, who then sees all that it did', async () => {
    await using rig = await journalRig();
    const asked = newPlace();
    await rig.journal.open(asked, fence);
    const orphan = await rig.rival();
    await orphan.query('begin');
    await markIn(orphan, asked.commandId, atMs + 5);
    const taking = rig.journal.takeOver(next, atMs + 50, 0);
    await blocked(rig, 1);
    await orphan.query('commit');
    // Committed before the sweep looked: it may have been written,
    // so it is unknown, not `not_sent`.
    expect(await taking).toMatchObject([
      { commandId: asked.commandId, state: 'unknown', attempts: [{ state: 'unknown' }] },
    ]);
  });

  it('that comes to the fence after it was raised marks nothing, steps nothing, opens nothing', async () => {
    await using rig = await journalRig();
    const asked = newPlace();
    await rig.journal.open(asked, fence);
    const successor = await rig.rival();
    await successor.query('begin; update shards set epoch = 2 where shard = 0');
    await successor.query('select take_over_commands(0, 2)');
    const late = [
      rig.journal.markSending(asked.attemptId ?? '', atMs, fence),
      rig.journal.open(newPlace(), fence),
      rig.journal.clearHalts({ kind: 'service' }, { by: 'b', reason: 'r', atMs }, fence),
    ];
    await blocked(rig, 3);
    await successor.query('commit');
    expect(await Promise.all(late)).toEqual([false, { kind: 'fenced' }, 'fenced']);
    expect(await rig.journal.find(asked.commandId)).toMatchObject({ version: 1, attempts: [{ state: 'prepared' }] });
  });

  it('is shut out by the taking of the shard alone, and what it left waits for the sweep', async () => {
    await using rig = await journalRig();
    const command = await sending(rig.journal);
    await takeShard(rig.pool, next);
    expect(await rig.journal.step(answered(command, 'accepted'), fence)).toEqual({ kind: 'fenced' });
    expect(await rig.journal.find(command.commandId)).toMatchObject({ attempts: [{ state: 'sending' }] });
    expect(await rig.journal.takeOver(next, atMs + 50, 0)).toMatchObject([{ attempts: [{ state: 'unknown' }] }]);
  });

  it('shuts nobody out, nor sweeps, by a takeover under an epoch that the shard does not have', async () => {
    await using rig = await journalRig();
    const command = await sending(rig.journal);
    const successor = await rig.rival();
    for (const epoch of [0, 2]) {
      const taking = successor.query('select take_over_commands(0, $1)', [epoch]);
      await expect(taking).rejects.toMatchObject({ code: 'TM011' });
    }
    expect(await rig.journal.step(answered(command, 'accepted'), fence)).toMatchObject({ kind: 'stepped' });
  });
});

describe('a journal transaction that is held open', () => {
  it('never keeps a batch of the stream waiting, nor a batch it', async () => {
    await using rig = await journalRig();
    const slow = await rig.rival();
    await slow.query('begin');
    await openIn(slow, newPlace());
    expect((await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]))).kind).toBe('committed');
    expect(await rig.lanes.renew(0, rig.epoch)).toBe('renewed');
    const lane = await rig.rival();
    await lane.query('begin');
    await lane.query('update lanes set renewed_at = now()');
    expect(await rig.journal.open(newPlace(), fence)).toMatchObject({ kind: 'opened' });
    await slow.query('rollback');
    await lane.query('rollback');
  });
});

describe('a write whose answer is lost', () => {
  it('rejects as COMMIT_UNKNOWN and is not repeated; one that was never sent is STORE_UNAVAILABLE', async () => {
    await using rig = await journalRig();
    const pool = createPool(
      { log: testLog },
      { url: proxiedUrl(rig.database.url, rig.proxy), applicationName: 'test-commands', maxConnections: 1 },
    );
    const journal = createPostgresJournal({ pool, clock: systemClock, random: systemRandom });
    const asked = newPlace();
    const blocker = await rig.rival();
    await blocker.query('begin; lock table journal in exclusive mode');
    const opening = journal.open(asked, fence);
    const failing = expect(opening).rejects.toMatchObject({ code: 'COMMIT_UNKNOWN', retryable: false });
    await blocked(rig, 1);
    rig.proxy.cut('fin');
    await failing;
    await blocker.query('commit');
    // The statement was whole at the server: it commits behind our back, and the same key finds it.
    await eventually(async () => expect(await rig.journal.findByKey('desk', asked.idempotencyKey)).toBeDefined());
    expect(await rig.journal.open({ ...asked, commandId: randomUUID() }, fence)).toMatchObject({ kind: 'replayed' });
    await rig.proxy.refuse();
    await expect(journal.open(newPlace(), fence)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    await pool.end();
  });

  it('is repeated when the database says that it rolled it back', async () => {
    await using rig = await journalRig();
    await rig.pool.query(`create sequence tries; create function fail_once() returns trigger language plpgsql as $$ begin
      if nextval('public.tries') = 1 then raise exception 'deadlock' using errcode = '40P01'; end if; return new; end $$;
      create trigger fail_once before insert on journal for each row execute function fail_once()`);
    expect(await rig.journal.open(newPlace(), fence)).toMatchObject({ kind: 'opened' });
    expect(await rig.rows('select count(*)::int as commands from commands')).toEqual([{ commands: 1 }]);
  });
});
