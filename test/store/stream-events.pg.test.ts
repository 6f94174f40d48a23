import { describe, expect, it } from 'vitest';
import { maintainCommands } from '../../src/store/maintenance.ts';
import type { EventPosition } from '../../src/store/orders/order-reads.ts';
import { fence, newPlace } from '../support/commands/journal-fixtures.ts';
import { readRig } from '../support/orders/read-rig.ts';
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
async function settled(rig: Rig): Promise<bigint> {
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

describe('outcomes and halts after a position', () => {
  it('are every step and every change of a halt, once, in pages of any size, with the text of Kafka', async () => {
    await using rig = await readRig();
    const place = newPlace();
    await rig.journal.open(place, fence);
    await rig.journal.raiseHalt({ ...halt, haltId: 'h-1' });
    await rig.journal.raiseHalt({ ...halt, haltId: 'h-2', scope: { kind: 'service' } });
    await rig.journal.clearHalts(halt.scope, { by: 'desk', reason: 'seen', atMs: 1_795_000_001_000 }, fence);
    await rig.journal.open(newPlace(), fence);
    const horizon = await settled(rig);
    const whole = await readAll(rig, start, horizon, 100);
    expect(whole.events.map(({ kind, accountId, stream }) => [kind, accountId, stream])).toEqual([
      ['outcome', place.request.accountId, place.request.stream],
      ['halt', 'acct-1', undefined],
      ['halt', undefined, undefined],
      ['halt', 'acct-1', undefined],
      ['outcome', place.request.accountId, place.request.stream],
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
    await slow.query('select open_command(0, 1, $1)', [JSON.stringify(late)]);
    const quick = newPlace();
    await rig.journal.open(quick, fence);
    const before = await readAll(rig, start, (await rig.reads.eventHorizon()).horizon);
    expect(before.events, 'the quick one waits for the slow one').toEqual([]);
    await slow.query('commit');
    const after = await readAll(rig, before.at, await settled(rig));
    expect(idsOf(after.events)).toEqual([late.commandId, quick.commandId]);
    const rolledBack = await rig.rival();
    await rolledBack.query('begin');
    await rolledBack.query('select open_command(0, 1, $1)', [JSON.stringify(newPlace())]);
    const third = newPlace();
    await rig.journal.open(third, fence);
    await rolledBack.query('rollback');
    expect(idsOf((await readAll(rig, after.at, await settled(rig))).events)).toEqual([third.commandId]);
  });

  it('do not wait for a transaction of another database on the same server', async () => {
    await using rig = await readRig();
    await using other = await readRig();
    const slow = await other.rival();
    await slow.query('begin');
    await slow.query('select open_command(0, 1, $1)', [JSON.stringify(newPlace())]);
    const place = newPlace();
    await rig.journal.open(place, fence);
    expect(idsOf((await readAll(rig, start, await settled(rig))).events)).toEqual([place.commandId]);
    await slow.query('rollback');
  });

  it('say when some were deleted above the position', async () => {
    await using rig = await readRig();
    await rig.journal.open(newPlace(), fence);
    await rig.journal.raiseHalt({ ...halt, haltId: 'h-1' });
    const horizon = await settled(rig);
    const { upTo: at } = await rig.reads.eventsAfter(start, horizon, 9);
    expect((await rig.reads.eventsAfter(start, horizon, 9)).complete).toBe(true);
    await rig.pool.query('delete from command_outbox');
    await rig.pool.query(
      `begin; set local session_replication_role = replica;
       update command_events set recorded_at = now() - interval '3 days'; update halt_events set recorded_at = now() - interval '3 days'; commit`,
    );
    expect((await maintainCommands(rig.pool, { retentionMs: 86_400_000 })).forgotten).toBe(1);
    expect(await rig.reads.eventsAfter(start, horizon, 9)).toMatchObject({ events: [], complete: false });
    expect((await rig.reads.eventsAfter(at, await settled(rig), 9)).complete).toBe(true);
  });

  it('are read by an index, however many lie before the position', async () => {
    await using rig = await readRig();
    const place = newPlace();
    await rig.journal.open(place, fence);
    await rig.pool.query('alter table command_events set (autovacuum_enabled = off)');
    await rig.pool.query(
      `begin; set local session_replication_role = replica;
       insert into command_events (command_id, misses, presumed_absent, updated_at, state, attempts, version)
       select command_id, misses, presumed_absent, updated_at, state, attempts, g from command_events, generate_series(2, 50001) g; commit`,
    );
    // A page that is not full ends there.
    const at = { tx: await settled(rig), number: 0n };
    await rig.journal.open(newPlace(), fence);
    const horizon = await settled(rig);
    const first = rig.queries.length;
    expect((await readAll(rig, at, horizon)).events).toHaveLength(1);
    const read = rig.queries.slice(first).find(({ text }) => text.includes('command_events'));
    expect(await rowsRead(rig.readPool, read ?? { text: '', values: [] }, 'command_events')).toBeLessThanOrEqual(1);
  });
});
