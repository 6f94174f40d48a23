import type { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { PostgresResultLog } from '../../src/store/commands/result-log.ts';
import { maintainCommands } from '../../src/store/maintenance.ts';
import type { EventPosition } from '../../src/store/orders/order-reads.ts';
import { untilEnded } from '../../src/store/orders/read-stream.ts';
import { openIn } from '../support/commands/append-in.ts';
import { fence, newPlace } from '../support/commands/journal-fixtures.ts';
import { all, readRig } from '../support/orders/read-rig.ts';
import { eventually } from '../support/runs/poll.ts';
import { rowsRead } from './rows-read.ts';

type Rig = Awaited<ReturnType<typeof readRig>>;

const start: EventPosition = { tx: 0n, number: 0n };
const idsOf = (events: readonly { payload: string }[]) =>
  events.map(({ payload }) => JSON.parse(payload) as { commandId?: string }).map(({ commandId }) => commandId);

/** All pages from `after` on. */
async function readAll(rig: Rig, after: EventPosition, horizon: bigint, limit = 2) {
  const events = [];
  let at = after;
  for (;;) {
    const page = await rig.reads.eventsAfter(at, horizon, limit);
    events.push(...page.events);
    at = page.upTo;
    if (page.events.length < limit) return { events, at };
  }
}

/**
 * Other tests share the server: a transaction of theirs that has
 * just ended may still count for a moment.
 */
async function resolved(rig: Rig): Promise<bigint> {
  const { rows } = await rig.pool.query<{ newest: string }>(
    `select tx_id::text as newest from (select tx_id from command_events union all select tx_id from halt_events) as e order by tx_id desc limit 1`,
  );
  return eventually(async () => {
    const { horizon } = await rig.reads.eventHorizon();
    expect(horizon).toBeGreaterThan(BigInt(rows[0]?.newest ?? 0));
    return horizon;
  });
}

const halt = {
  scope: { kind: 'account', accountId: 'acct-1' },
  cause: 'operator',
  reason: 'a test',
  by: 'desk',
  sinceMs: 1_795_000_000_000,
} as const;

describe('results and halts after a position', () => {
  it('are every step and every change of a halt, once, in pages of any size, with the text of Kafka', async () => {
    await using rig = await readRig();
    const place = newPlace();
    await rig.journal.open(place, fence);
    await rig.journal.raiseHalt({ ...halt, haltId: 'h-1' });
    await rig.journal.raiseHalt({ ...halt, haltId: 'h-2', scope: { kind: 'service' } });
    await rig.journal.clearHalts(halt.scope, { by: 'desk', reason: 'seen', atMs: 1_795_000_001_000 }, fence);
    await rig.journal.open(newPlace(), fence);
    const horizon = await resolved(rig);
    const whole = await readAll(rig, start, horizon, 100);
    expect(whole.events.map(({ kind, accountId, stream }) => [kind, accountId, stream])).toEqual([
      ['result', place.request.accountId, place.request.stream],
      ['halt', 'acct-1', undefined],
      ['halt', undefined, undefined],
      ['halt', 'acct-1', undefined],
      ['result', place.request.accountId, place.request.stream],
    ]);
    expect(JSON.parse(whole.events[0]?.payload ?? '')).toMatchObject({
      eventId: `${place.commandId}:1`,
      commandId: place.commandId,
    });
    const of = {
      haltId: 'h-1',
      scope: halt.scope,
      cause: 'operator',
      reason: 'a test',
      by: 'desk',
      since: '2026-11-18T11:06:40.000Z',
    };
    expect(JSON.parse(whole.events[1]?.payload ?? '')).toEqual({ ...of, inForce: true });
    const cleared = { clearedAt: '2026-11-18T11:06:41.000Z', clearedBy: 'desk', clearedReason: 'seen' };
    expect(JSON.parse(whole.events[3]?.payload ?? '')).toEqual({ ...of, inForce: false, ...cleared });
    for (const limit of [1, 2, 3]) {
      expect((await readAll(rig, start, horizon, limit)).events).toEqual(whole.events);
    }
    for (const [i, { tx, number }] of whole.events.entries())
      expect((await readAll(rig, { tx, number }, horizon)).events).toEqual(whole.events.slice(i + 1));
    expect((await readAll(rig, whole.at, horizon)).events).toEqual([]);
  });

  it('are not shown past a transaction that is under way, and so none that commits late is ever skipped', async () => {
    await using rig = await readRig();
    const slow = await rig.rival();
    const late = newPlace();
    await slow.query('begin');
    await openIn(slow, late);
    const quick = newPlace();
    await rig.journal.open(quick, fence);
    const before = await readAll(rig, start, (await rig.reads.eventHorizon()).horizon);
    expect(before.events, 'the quick one waits for the slow one').toEqual([]);
    await slow.query('commit');
    const after = await readAll(rig, before.at, await resolved(rig));
    expect(idsOf(after.events)).toEqual([late.commandId, quick.commandId]);
    const rolledBack = await rig.rival();
    await rolledBack.query('begin');
    await openIn(rolledBack, newPlace());
    const third = newPlace();
    await rig.journal.open(third, fence);
    await rolledBack.query('rollback');
    expect(idsOf((await readAll(rig, after.at, await resolved(rig))).events)).toEqual([third.commandId]);
  });

  it('do not wait for a transaction of another database on the same server', async () => {
    await using rig = await readRig();
    await using other = await readRig();
    const slow = await other.rival();
    await slow.query('begin');
    await openIn(slow, newPlace());
    const place = newPlace();
    await rig.journal.open(place, fence);
    expect(idsOf((await readAll(rig, start, await resolved(rig))).events)).toEqual([place.commandId]);
    await slow.query('rollback');
  });

  it('say when some were deleted above the position', async () => {
    await using rig = await readRig();
    await rig.journal.open(newPlace(), fence);
    await rig.journal.raiseHalt({ ...halt, haltId: 'h-1' });
    const horizon = await resolved(rig);
    const { upTo: at } = await rig.reads.eventsAfter(start, horizon, 9);
    expect((await rig.reads.eventsAfter(start, horizon, 9)).complete).toBe(true);
    await rig.pool.query(
      `begin; set local session_replication_role = replica;
       update halt_events set recorded_at = now() - interval '3 days'; commit`,
    );
    expect((await maintainCommands(rig.pool, { retentionMs: 86_400_000 })).forgotten).toBe(1);
    expect(await rig.reads.eventsAfter(start, horizon, 9)).toMatchObject({
      events: [{ kind: 'result' }],
      complete: false,
    });
    expect((await rig.reads.eventsAfter(at, await resolved(rig), 9)).complete).toBe(true);
  });

  it('are read by an index, however many lie before the position', async () => {
    await using rig = await readRig();
    const place = newPlace();
    await rig.journal.open(place, fence);
    await rig.pool.query('alter table journal set (autovacuum_enabled = off)');
    await rig.pool.query(
      `begin; set local session_replication_role = replica;
       insert into journal (shard, epoch, seq, command_id, number, version, kind, from_state, state, at, body)
       select shard, epoch, -g, command_id, g, g, 'step', 'open', state, at, body from journal, generate_series(2, 50001) g; commit`,
    );
    // A page that is not full ends there.
    const at = { tx: await resolved(rig), number: 0n };
    await rig.journal.open(newPlace(), fence);
    const horizon = await resolved(rig);
    const first = rig.queries.length;
    expect((await readAll(rig, at, horizon)).events).toHaveLength(1);
    const read = rig.queries.slice(first).find(({ text }) => text.includes('command_events'));
    expect(await rowsRead(rig.readPool, read ?? { text: '', values: [] }, 'journal')).toBeLessThanOrEqual(1);
  });
});

describe('issue: After a restore on another server the stream sent old results as new, and left some out.', () => {
  it.each([-2, 30])(
    'positions and events of the server before, whose transactions were %d apart, are those of before',
    async (apart) => {
      await using rig = await readRig();
      const { reads, pool } = rig;
      const now = async () => {
        const { horizon, end } = await reads.eventHorizon();
        return { position: { tx: horizon, number: 0n }, end };
      };
      await rig.journal.open(newPlace(), fence);
      await eventually(async () => {
        const { events } = await reads.eventsAfter({ tx: 0n, number: 0n }, (await now()).position.tx, 50);
        expect(events.length).toBeGreaterThan(0);
      });
      // As a server has them whose transactions had other numbers.
      await pool.query('alter table journal disable trigger user');
      await pool.query(`update journal set tx_id = (pg_current_xact_id()::text::bigint + $1)::text::xid8`, [apart]);
      const old: EventPosition = { tx: (await now()).end + BigInt(apart), number: 0n };
      await pool.query(`select after_restore(0, 1, 'restored', 'test')`);

      const seen: string[] = [];
      // Above the halt of the restore itself.
      let after = { tx: (await now()).end, number: 0n };
      const readOn = async () => {
        const page = await reads.eventsAfter(after, (await now()).position.tx, 50);
        expect(page.complete).toBe(true);
        if (page.upTo.tx < after.tx) return;
        seen.push(...page.events.map(({ kind }) => kind));
        after = page.upTo;
      };
      await readOn();
      expect((await reads.eventsAfter(old, (await now()).position.tx, 50)).complete).toBe(false);
      // Until the numbers of this server are above those of the server before.
      for (let at = 0; at < 60; at += 1) await pool.query('select pg_current_xact_id()');
      expect((await reads.eventsAfter(old, (await now()).position.tx, 50)).complete).toBe(false);
      await readOn();
      expect(seen).toEqual([]);
      await rig.pool.query(
        `insert into halts (halt_id, account_id, cause, reason, raised_by, since) values ('new', 'a', 'operator', 'r', 'me', now())`,
      );
      await eventually(async () => {
        await readOn();
        expect(seen).toEqual(['halt']);
      });
      expect((await reads.listCommands(all, {}, undefined, 5)).items).toHaveLength(1);
    },
  );
});

describe('issue: A reader of the event stream could not tell two results of one version apart.', () => {
  /**
   * After lost commits a version of a command may be given again. Kafka's record named the
   * generation that tells the two apart, and the same step in the stream of events did not.
   */
  it.each([1, 3])('a result in the stream of events is the record of Kafka, in generation %i', async (generation) => {
    await using rig = await readRig();
    await rig.rows('update lanes set generation = $1', [generation]);
    await rig.journal.open(newPlace(), fence);
    const results = new PostgresResultLog({ pool: rig.pool, clock: systemClock, random: systemRandom });
    const [record] = await results.readUnpublished(10, [fence.shard]);
    // Other tests share the server: a transaction of theirs that has
    // just ended may still count for a moment.
    const event = await eventually(async () => {
      const { horizon } = await rig.reads.eventHorizon();
      const { events } = await rig.reads.eventsAfter({ tx: 0n, number: 0n }, horizon, 10);
      expect(events).toHaveLength(1);
      return events[0];
    });
    expect(event?.payload).toBe(record?.payload);
    expect(JSON.parse(event?.payload ?? '').generation).toBe(generation === 1 ? undefined : generation);
  });
});

describe('issue: An update that committed a moment late never came to the readers of the event stream.', () => {
  /** Lane 0 through a connection whose transactions the test ends, lane 1 by whole batches. */
  async function twoLanes() {
    const rig = await readRig();
    const other = await rig.lanes.acquire(1, 'other', 6_000);
    if (other.kind !== 'held') throw new Error('lane 1 is held by somebody');
    let number = 0;
    return Object.assign(rig, {
      slow: await rig.rival(),
      async commitInLane1(orderId: string): Promise<void> {
        number += 1;
        await write(rig.pool, { lane: 1, epoch: other.epoch, number }, orderId);
      },
    });
  }

  /** A batch of one update. */
  async function write(
    to: Pick<Client, 'query'>,
    { lane, epoch, number }: { readonly lane: number; readonly epoch: bigint; readonly number: number },
    orderId: string,
  ): Promise<void> {
    await to.query(
      `select apply_batch($1, $2, $3, array['account'], array[$4], '{A}', '{S}', '{new}', '{1}', '{0}', '{null}', array[null]::json[], array['{}']::json[], '{1}',
       array['account'], array[$4], '{A}', '{1}', '{-1}', '{p}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')`,
      [lane, epoch.toString(), number, orderId],
    );
  }

  /** One of lane 0, left open. */
  async function beginBatch(
    { slow, epoch }: Pick<Rig, 'slow' | 'epoch'>,
    number: number,
    orderId: string,
  ): Promise<void> {
    await slow.query('begin');
    await write(slow, { lane: 0, epoch, number }, orderId);
  }

  type Rig = Awaited<ReturnType<typeof twoLanes>>;

  async function seen(rig: Rig, after = 0n) {
    const { updates, lastSeq } = await rig.reads.updatesAfter(all, after, 10);
    return { orders: updates.map(({ orderId }) => orderId), lastSeq };
  }

  /** Resolves once the read waits for the batch. */
  async function waits(rig: Rig, read: Promise<unknown>): Promise<void> {
    let over = false;
    void read.finally(() => {
      over = true;
    });
    const asked = rig.queries.length;
    await eventually(() =>
      expect(rig.queries.slice(asked).some(({ text }) => text.includes('unnest($1::xid8[])'))).toBe(true),
    );
    expect(over).toBe(false);
  }

  it('a read waits for a batch of another lane that took a lower seq and is not committed', async () => {
    await using rig = await twoLanes();
    await beginBatch(rig, 1, 'slow');
    await rig.commitInLane1('quick');
    const read = seen(rig);
    await waits(rig, read);
    await rig.slow.query('commit');
    expect(await read).toEqual({ orders: ['slow', 'quick'], lastSeq: 2n });
  });

  it('what commits while it is waited for is left for the next read', async () => {
    await using rig = await twoLanes();
    await beginBatch(rig, 1, 'slow');
    await rig.commitInLane1('quick');
    const read = seen(rig);
    await waits(rig, read);
    await rig.commitInLane1('later');
    await rig.slow.query('commit');
    expect(await read).toEqual({ orders: ['slow', 'quick'], lastSeq: 2n });
    expect(await seen(rig, 2n)).toEqual({ orders: ['later'], lastSeq: 3n });
  });

  it('a stream begins where nothing can be committed any more below it', async () => {
    await using rig = await twoLanes();
    await beginBatch(rig, 1, 'slow');
    await rig.commitInLane1('quick');
    const newest = rig.reads.newestSeq();
    await waits(rig, newest);
    await rig.slow.query('rollback');
    expect(await newest).toBe(2n);
  });

  it('a batch that was rolled back, and a lock that was only taken, hold up nobody', async () => {
    await using rig = await twoLanes();
    await beginBatch(rig, 1, 'never');
    await rig.slow.query('rollback');
    await rig.commitInLane1('quick');
    expect(await seen(rig)).toEqual({ orders: ['quick'], lastSeq: 2n });
    await rig.slow.query('begin');
    await rig.slow.query('select from lanes where lane = 0 for update');
    await rig.slow.query('commit');
    const [touched] = await rig.rows<{ by: string }>('select xmax::text as by from lanes where lane = 0');
    expect(touched?.by, 'the row still names who locked it').not.toBe('0');
    expect(await seen(rig)).toEqual({ orders: ['quick'], lastSeq: 2n });
    expect(rig.queries).toHaveLength(2);
  });

  it('of one lane nothing is waited for: its next seqs lie above all that it committed', async () => {
    await using rig = await twoLanes();
    await rig.commitInLane1('early');
    await rig.store({ orderId: 'mine' });
    await beginBatch(rig, 2, 'slow');
    expect(await seen(rig)).toEqual({ orders: ['early', 'mine'], lastSeq: 2n });
    expect(await rig.reads.newestSeq()).toBe(2n);
    await rig.slow.query('commit');
    expect(await seen(rig, 2n)).toEqual({ orders: ['slow'], lastSeq: 3n });
  });

  it('a transaction that keeps the row of a lane does not silently stop the stream', async () => {
    await using rig = await twoLanes();
    await beginBatch(rig, 1, 'slow');
    const [{ xid } = { xid: '' }] = (await rig.slow.query<{ xid: string }>('select pg_current_xact_id()::text as xid'))
      .rows;
    const quickly = { everyMs: 1, deadlineMs: 20 };
    await expect(untilEnded(rig.deps, [xid], quickly)).rejects.toThrow(`does not end (xid ${xid})`);
    await rig.slow.query('rollback');
    await untilEnded(rig.deps, [xid], quickly);
  });
});
