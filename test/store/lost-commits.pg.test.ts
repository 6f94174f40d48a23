import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { Command } from '../../src/domain/command.ts';
import { createMetrics } from '../../src/observability/metrics.ts';
import { systemClock as clock } from '../../src/runtime/clock.ts';
import { Lease } from '../../src/runtime/lease.ts';
import { systemRandom as random } from '../../src/runtime/random.ts';
import { LaneKeeper } from '../../src/service/fleet/lane-keeper.ts';
import { storeParts } from '../../src/service/run/store-parts.ts';
import { createPostgresJournal } from '../../src/store/commands/postgres-journal.ts';
import { recordAction } from '../../src/store/commands/read-audit-trail.ts';
import { PostgresResultLog } from '../../src/store/commands/result-log.ts';
import { postgresAccountRegistry } from '../../src/store/fleet/account-registry.ts';
import { type AfterRestoreOptions, afterRestore, type LaneStore } from '../../src/store/fleet/lane-store.ts';
import { PostgresUpdateLog } from '../../src/store/orders/update-log.ts';
import { createPool } from '../../src/store/session/pool.ts';
import { atMs, fence, newPlace, sending } from '../support/commands/journal-fixtures.ts';
import { journalRig, takeShard } from '../support/commands/journal-rig.ts';
import { unreadAccount } from '../support/commands/unread-account.ts';
import { batch, storeRig, update } from '../support/orders/store-rig.ts';
import { eventually } from '../support/runs/poll.ts';
import { silentLog as log } from '../support/runs/silent-log.ts';
import { testLog } from '../support/runs/test-log.ts';

describe('issue: Consumers dropped the first updates after a failover.', () => {
  const proof = '"proof":{"lane":0,"generation":1,"after":"0","upTo":"1","count":1,"hash":"07d4a1c9e35b"}';
  /** Kafka has batch 9 of a process that is gone. */
  const lost = { lane: 0, generation: 1, epoch: 0n, batch: 9n, acts: [] };
  const payload = (orderId: string, revision: number) =>
    `{"eventId":"prediction:${orderId}:${revision}","generation":1,"order":"${orderId}"}`;

  async function nextTerm(lanes: LaneStore): Promise<bigint> {
    const taken = await lanes.acquire(0, 'first', 6_000);
    if (taken.kind !== 'held') throw new Error('the lane is not ours');
    return taken.epoch;
  }

  // They went out in the generation in which Kafka had these revisions with other
  // content, and every consumer dropped them.
  it('what a lane committed before Kafka could be asked goes out under the generation that the answer begins', async () => {
    await using rig = await storeRig();
    const write = (epoch: bigint, number: number, orderId: string, revision: number) =>
      rig.store.applyBatch(
        batch(epoch, number, [[orderId, revision]], {
          updates: [
            update(orderId, revision, { payload: payload(orderId, revision) }),
            update(`mark-${number}`, 1, { stream: 'watermarks', payload: `{"event":"heartbeat",${proof}}` }),
          ],
        }),
      );
    await write(rig.epoch, 1, 'o1', 1);
    await rig.lanes.noticeLoss(0, [], rig.epoch);
    // A term begins behind batch 1.
    const epoch = await nextTerm(rig.lanes);
    await write(epoch, 2, 'o1', 2);
    expect(await rig.lanes.noticeLoss(0, [lost], epoch)).toEqual({ generation: 2 });
    expect(await rig.rows('select payload from order_updates order by seq')).toEqual([
      { payload: payload('o1', 1) },
      { payload: `{"event":"heartbeat",${proof}}` },
      { payload: payload('o1', 2).replace('"generation":1', '"generation":2') },
      { payload: '{"event":"heartbeat"}' },
    ]);
    const [first] = await rig.rows<{ seq: string }>('select max(seq) as seq from order_updates where batch = 1');
    expect(await rig.rows("select seq from relay_positions where lane = 0 and cursor = 'state'")).toEqual([first]);
  });

  it('is found from the end of the lane: the log behind it is not read', async () => {
    await using rig = await storeRig();
    await rig.pool.query(
      `insert into order_updates (lane, batch, stream, order_id, account_id, revision, payload)
     select 0, 1, 'prediction', 'o-' || n, 'a', 1, '{"generation":1}' from generate_series(1, 20000) n`,
    );
    await rig.pool.query('update lane_batches set batch = 1 where lane = 0');
    await rig.pool.query(
      'insert into lane_batches (lane, batch) select 0, 1 where not exists (select from lane_batches where lane = 0)',
    );
    await rig.lanes.noticeLoss(0, [], rig.epoch);
    const epoch = await nextTerm(rig.lanes);
    const updates = [update('o1', 1, { payload: payload('o1', 1) })];
    await rig.store.applyBatch(batch(epoch, 2, [['o1', 1]], { updates }));
    const read = async () => {
      await rig.pool.query('select pg_stat_force_next_flush()');
      const [row] = await rig.rows<{ read: string }>(
        "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) as read from pg_stat_user_tables where relname like 'order_updates%'",
      );
      return Number(row?.read);
    };
    const before = await read();
    expect(await rig.lanes.noticeLoss(0, [lost], epoch)).toEqual({ generation: 2 });
    expect((await read()) - before).toBeLessThan(1_000);
    expect(
      await rig.rows('select count(*)::int as n from order_updates where payload like \'%"generation":2%\''),
    ).toEqual([{ n: 1 }]);
  });

  it('a step of a command names the generation in which it is told, from the second one on', async () => {
    await using rig = await storeRig();
    const journal = createPostgresJournal(rig.deps);
    const results = new PostgresResultLog(rig.deps);
    await rig.pool.query('update shards set lane = 0, epoch = 1 where shard = $1', [fence.shard]);
    await journal.takeOver(fence, 0, 0);
    await journal.open(newPlace(), fence);
    const told = async () =>
      (await results.readUnpublished(10, [fence.shard])).map((row) => JSON.parse(row.payload).generation);
    expect(await told()).toEqual([undefined]);
    await rig.pool.query('update lanes set generation = 3');
    expect(await told()).toEqual([3]);
  });
});

describe('issue: After the database lost commits, some new updates never reached Kafka.', () => {
  const log = testLog.child({}, { level: 'silent' });

  // Seed 11147: a relay saved how far Kafka was after the database had come back without its newest
  // rows. The next rows had the same numbers, and were never sent.
  it('takes no position of the relay beyond the end of the log', async () => {
    await using rig = await storeRig();
    await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
    await rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]));
    const updates = new PostgresUpdateLog(rig.deps);
    const [first, second] = await updates.readAfter(0, 0n, 10);
    const rival = await rig.rival();
    await rival.query('delete from order_updates where revision = 2');
    await rival.query('update lane_batches set batch = 1');
    expect(await updates.savePosition(0, rig.epoch, 'log', second?.seq ?? 0n)).toBe(false);
    expect(await updates.loadPosition(0, 'log')).toBe(0n);
    expect(await updates.savePosition(0, rig.epoch, 'log', first?.seq ?? 0n)).toBe(true);
    await rival.query('delete from order_updates');
    expect(
      await updates.savePosition(0, rig.epoch, 'log', first?.seq ?? 0n),
      'what was saved before, its rows long dropped',
    ).toBe(true);
  });

  // Seed 14219: an account was marked as read up to now after the database had lost the orders that
  // the read had shown. Those that had ended were never asked for again.
  it('keeps no mark of how far an account was read once what was read is lost', async () => {
    await using rig = await storeRig();
    await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
    const lease = new Lease(clock, 3_000);
    lease.checkpoint.sawLane({ generation: 1, epoch: rig.epoch, batch: 1n });
    const registry = postgresAccountRegistry({ ...rig.deps, lease });
    const account = unreadAccount('acct-1');
    await registry.save(account);
    await (await rig.rival()).query('update lane_batches set batch = 0');
    await expect(registry.save({ ...account, readUpTo: '2026-11-21T14:31:07Z' })).rejects.toThrow('lost commits');
    expect(await registry.load()).toEqual([account]);
  });

  // Seed 16937: the database lost commits while the last process drained. The next ones knew of
  // nothing, and gave revisions again that the state topic had.
  it('begins a generation before the lane is given back by a process that drains', async () => {
    await using rig = await storeRig();
    await rig.lanes.release(0, rig.epoch);
    const lease = new Lease(clock, 3_000);
    const work = { begin: async () => {}, end: async () => {} };
    const keeper = new LaneKeeper(
      { store: rig.lanes, work, lease, clock, log, metrics: createMetrics().ingest },
      { holder: 'me', renewEveryMs: 60_000, expireAfterMs: 120_000, acquireEveryMs: 50 },
    );
    await keeper.start();
    await expect.poll(() => keeper.state).toBe('held');
    await rig.store.applyBatch(batch(lease.epoch, 1, [['a', 1]]));
    lease.checkpoint.sawBatch(1n);
    await (await rig.rival()).query('update lane_batches set batch = 0');
    await keeper.drain(new AbortController().signal);
    expect(await rig.rows('select generation, holder from lanes')).toEqual([{ generation: 2, holder: null }]);
    expect(await rig.rows('select cause from halts where cleared_at is null')).toEqual([{ cause: 'commits_lost' }]);
  });
});

describe('issue: Changes of one process never reached consumers after a failover with Kafka away.', () => {
  /** Kafka has it of a process that is gone; no database with these lanes has it. */
  const lost = { lane: 7, generation: 1, epoch: 1n, batch: 9n, acts: [] };

  async function lanesRig() {
    const rig = await storeRig();
    const take = async (lane: number, holder: string) => {
      const taken = await rig.lanes.acquire(lane, holder, 6_000);
      if (taken.kind !== 'held') throw new Error(`lane ${lane} has another holder`);
      return taken.epoch;
    };
    const generations = async () => {
      const rows = await rig.rows<{ key: string; generation: string }>(
        `select lane || ' ' || order_id as key, substring(payload from '"generation":(\\d+)') as generation from order_updates order by seq`,
      );
      return Object.fromEntries(rows.map(({ key, generation }) => [key, Number(generation)]));
    };
    return {
      ...rig,
      generations,
      take,
      /** A batch of one new order. */
      async write(lane: number, epoch: bigint, number: number, orderId: string) {
        const payload = `{"eventId":"prediction:${orderId}:1","generation":1,"order":"${orderId}"}`;
        const updates = [update(orderId, 1, { payload })];
        const committed = await rig.store.applyBatch({ ...batch(epoch, number, [[orderId, 1]], { updates }), lane });
        expect(committed.kind).toBe('committed');
      },
      async unwritten(lane: number) {
        const cursor = "(select p.seq from relay_positions p where p.lane = $1 and p.cursor = 'state')";
        const rows = await rig.rows<{ order_id: string }>(
          `select order_id from order_updates where lane = $1 and seq > ${cursor} order by seq`,
          [lane],
        );
        return rows.map(({ order_id }) => order_id);
      },
    };
  }

  it('the rows that every lane committed before it could ask Kafka get the generation that one of them begins', async () => {
    await using rig = await lanesRig();
    const epochs = [rig.epoch, await rig.take(1, 'second'), await rig.take(2, 'third'), await rig.take(3, 'asked')];
    for (const [lane, epoch] of epochs.entries()) await rig.write(lane, epoch, 1, `a${lane}`);
    await rig.lanes.noticeLoss(3, [], epochs[3] ?? 0n);
    for (const [lane, epoch] of epochs.entries()) await rig.write(lane, epoch, 2, `b${lane}`);
    // The process of lane 2 is gone, that of lane 1 is alive, and lane 3 has published.
    expect(await rig.lanes.noticeLoss(0, [lost], rig.epoch)).toEqual({ generation: 2 });
    const unpublished = { '0 a0': 2, '0 b0': 2, '1 a1': 2, '1 b1': 2, '2 a2': 2, '2 b2': 2 };
    expect(await rig.generations()).toEqual({ ...unpublished, '3 a3': 1, '3 b3': 1 });
    for (const lane of [0, 1, 2]) expect(await rig.unwritten(lane)).toEqual([`a${lane}`, `b${lane}`]);
    expect(await rig.unwritten(3)).toEqual([]);
  });

  it('a process that asks Kafka behind the one that found the loss publishes nothing from its memory', async () => {
    await using rig = await lanesRig();
    const epoch = await rig.take(1, 'second');
    await rig.write(1, epoch, 1, 'a1');
    await rig.lanes.noticeLoss(0, [lost], rig.epoch);
    await expect(rig.lanes.noticeLoss(1, [lost], epoch)).rejects.toMatchObject({ code: 'TM001' });
    // Its next term begins under the new generation, and nothing is missing there.
    expect(await rig.lanes.noticeLoss(1, [lost], await rig.take(1, 'second'))).toBeUndefined();
  });

  it('a lane of a dead process has its rows under the new generation, whoever took it before Kafka was asked', async () => {
    await using rig = await lanesRig();
    await rig.lanes.noticeLoss(0, [], rig.epoch);
    await rig.write(1, await rig.take(1, 'dead'), 1, 'a1');
    await rig.pool.query("update lanes set renewed_at = now() - interval '1 minute' where lane = 1");
    await rig.write(1, await rig.take(1, 'next'), 2, 'b1');
    await rig.pool.query("update lanes set renewed_at = now() - interval '1 minute' where lane = 1");
    // As a process finishes it: it takes the lane, and asks.
    const epoch = await rig.take(1, 'zero/finisher');
    expect(await rig.lanes.noticeLoss(1, [lost], epoch)).toEqual({ generation: 2 });
    expect(await rig.generations()).toEqual({ '1 a1': 2, '1 b1': 2 });
  });

  it('a loss that a process knows by its memory counts for the rows of those who could not ask', async () => {
    await using rig = await lanesRig();
    await rig.write(1, await rig.take(1, 'second'), 1, 'a1');
    await rig.lanes.noticeLoss(0, [], rig.epoch);
    const remembered = { lane: 0, generation: 1, epoch: rig.epoch, batch: 5n, acts: [] };
    expect(await rig.lanes.noticeLoss(0, [remembered])).toEqual({ generation: 2 });
    expect(await rig.generations()).toEqual({ '1 a1': 2 });
  });

  it('what a lane commits while it can not ask Kafka again counts as unpublished, until it has', async () => {
    await using rig = await lanesRig();
    const asked = () => rig.lanes.noticeLoss(0, [], rig.epoch);
    await asked();
    await rig.write(0, rig.epoch, 1, 'a0');
    await rig.lanes.holdBack(0, rig.epoch);
    await asked();
    await rig.write(0, rig.epoch, 2, 'b0');
    await rig.lanes.holdBack(0, rig.epoch);
    await rig.write(0, rig.epoch, 3, 'c0');
    await rig.lanes.holdBack(0, rig.epoch);
    await rig.write(0, rig.epoch, 4, 'd0');
    expect(await rig.lanes.noticeLoss(0, [lost], rig.epoch)).toEqual({ generation: 2 });
    expect(await rig.generations()).toEqual({ '0 a0': 1, '0 b0': 1, '0 c0': 2, '0 d0': 2 });
  });

  it('a lost batch is missed although the next terms have given its number again', async () => {
    await using rig = await lanesRig();
    await rig.lanes.noticeLoss(0, [], rig.epoch);
    await rig.write(0, rig.epoch, 1, 'a0');
    const checkpoint = (batch: bigint) => ({ ...lost, lane: 0, epoch: rig.epoch, batch });
    // Batches 2 and 3 of this term are lost, and Kafka has a checkpoint of 2.
    for (const [batch, orderId] of [
      [2, 'b0'],
      [3, 'c0'],
    ] as const)
      await rig.write(0, await rig.take(0, 'first'), batch, orderId);
    const epoch = await rig.take(0, 'first');
    // By its memory a process knows of what it has not published.
    expect(await rig.lanes.noticeLoss(0, [checkpoint(3n)])).toBeUndefined();
    expect(await rig.lanes.noticeLoss(0, [checkpoint(2n)], epoch)).toEqual({ generation: 2 });
    expect(await rig.generations()).toEqual({ '0 a0': 1, '0 b0': 2, '0 c0': 2 });
    expect(await rig.lanes.noticeLoss(0, [checkpoint(2n)], await rig.take(0, 'first')), 'known by now').toBeUndefined();
  });

  it('rows under a new generation that nobody has published yet get the next one too, and then none', async () => {
    await using rig = await lanesRig();
    await rig.write(0, rig.epoch, 1, 'a0');
    expect(await rig.lanes.noticeLoss(0, [lost], rig.epoch)).toEqual({ generation: 2 });
    const again = { ...lost, generation: 2 };
    expect(await rig.lanes.noticeLoss(1, [again])).toEqual({ generation: 3 });
    expect(await rig.generations()).toEqual({ '0 a0': 3 });
    await rig.lanes.noticeLoss(0, [], await rig.take(0, 'first'));
    const last = { ...lost, generation: 3 };
    expect(await rig.lanes.noticeLoss(1, [last])).toEqual({ generation: 4 });
    expect(await rig.generations()).toEqual({ '0 a0': 3 });
  });
});

describe('issue: A command was swept as sent and then as unsent, under one version and one generation.', () => {
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  type Rig = Awaited<ReturnType<typeof journalRig>>;

  /** A process on lane 0, which no renewal of it helps to notice anything. */
  async function process(rig: Rig) {
    const lease = new Lease(clock, 3_000);
    const [row] = await rig.rows<{ epoch: string }>('select epoch from lanes where lane = 0');
    lease.checkpoint.sawLane({ generation: 1, epoch: BigInt(row?.epoch ?? 0), batch: 0n });
    const parts = storeParts({ clock, random, log, lease }, { url: rig.database.url, poolSize: 1 });
    ends.push(() => parts.close());
    return { ...parts, lease };
  }

  const stepOf = (swept: Command | undefined) => ['step', swept?.commandId, swept?.version, swept?.updatedAtMs];

  // The process that marked the attempt is gone, so only the takeover's own sweep can prove the
  // loss.
  it('the steps of a takeover are checkpointed: a database without them has lost commits', async () => {
    const rig = await journalRig();
    ends.push(async () => rig[Symbol.asyncDispose]());
    const command = await sending((await process(rig)).journal, newPlace());
    const taking = await process(rig);
    const next = { ...fence, epoch: fence.epoch + 1n };
    await takeShard(rig.pool, next);
    const [swept] = await taking.journal.takeOver(next, clock.nowMs(), 60_000);
    expect(swept).toMatchObject({ commandId: command.commandId, state: 'unknown' });
    expect(taking.lease.checkpoint.newest?.acts).toEqual([stepOf(swept)]);
    await taking.noticeLost();
    const generation = async () => (await rig.rows<{ g: number }>('select max(generation) as g from lanes'))[0]?.g;
    expect(await generation(), 'nothing is lost').toBe(1);
    await rig.rows(`set session_replication_role = replica;
    delete from journal where number > 1;
    insert into open_commands select account_id, command_id, shard, 'open' from journal on conflict on constraint open_commands_pkey do update set standing = 'open';
    reset session_replication_role`);
    await taking.noticeLost();
    expect(await generation()).toBe(2);
    // What can't be told to be unsent counts as sent.
    const [again] = await taking.journal.takeOver(next, clock.nowMs(), 60_000);
    expect(again).toMatchObject({ state: 'unknown', attempts: [{ state: 'unknown' }] });
  });

  // A sweep is a commit like any other, and its caller can't have read it back.
  it('the steps of a takeover whose read-back failed are checkpointed by its next try', async () => {
    const rig = await journalRig();
    ends.push(async () => rig[Symbol.asyncDispose]());
    const command = await sending((await process(rig)).journal, newPlace());
    const { lease } = await process(rig);
    const pool = createPool({ log }, { url: rig.database.url, maxConnections: 1, applicationName: 'taking' });
    ends.push(() => pool.end());
    let failing = true;
    const reading = Object.assign(Object.create(pool) as typeof pool, {
      query: (...asked: unknown[]) =>
        failing ? Promise.reject(new Error('it can not be read')) : Reflect.apply(pool.query, pool, asked),
    });
    const journal = createPostgresJournal({ pool: reading, clock, random, checkpoint: lease.checkpoint });
    const next = { ...fence, epoch: fence.epoch + 1n };
    await takeShard(rig.pool, next);
    const atMs = clock.nowMs();
    await expect(journal.takeOver(next, atMs, 60_000)).rejects.toThrow('can not be read');
    expect(lease.checkpoint.newest?.acts).toEqual([]);
    failing = false;
    const [swept] = await journal.takeOver(next, atMs, 60_000);
    expect(swept).toMatchObject({ commandId: command.commandId, state: 'unknown' });
    expect(lease.checkpoint.newest?.acts).toEqual([stepOf(swept)]);
  });
});

describe('issue: After a failover that lost commits, old requests, marks and numbers still counted.', () => {
  const options: AfterRestoreOptions = { lane: 0, least: 1, haltId: 'h-1', by: 'the test', partitionRows: 1_000 };

  it('a resume of the service that was asked for before the loss is waited for no longer', async () => {
    await using rig = await journalRig();
    const asked = { reason: 'all is well', by: 'ann', requestId: 'r-1', atMs, lastsMs: 3_600_000 };
    const scopes = [{ kind: 'service' }, { kind: 'account', accountId: 'acct-1' }] as const;
    for (const scope of scopes) {
      const accountId = scope.kind === 'account' ? scope.accountId : undefined;
      const action = { kind: 'resume', scope } as const;
      await rig.journal.requestApproval({
        ...{ ...asked, approvalId: randomUUID(), action },
        ...(accountId && { accountId }),
      });
    }
    await afterRestore(rig.pool, options);
    expect(
      await rig.rows('select account_id, expires_at = to_timestamp(0) as ended from approvals order by account_id'),
    ).toEqual([
      { account_id: 'acct-1', ended: false },
      { account_id: null, ended: true },
    ]);
  });

  it('a mark of a step that was lost takes no step that has its number now', async () => {
    await using rig = await journalRig();
    const log = new PostgresResultLog(rig.deps);
    await rig.journal.open(newPlace(), fence);
    const [now] = await log.readUnpublished(10, [0]);
    if (now === undefined) throw new Error('it is not there');
    await log.markPublished([
      { ...now, key: newPlace().commandId },
      { ...now, version: now.version + 1 },
    ]);
    expect(await log.readUnpublished(10, [0])).toEqual([now]);
    await log.markPublished([now]);
    expect(await log.readUnpublished(10, [0])).toEqual([]);
  });

  it('the numbers of steps go on far above those that may have been lost', async () => {
    await using rig = await journalRig();
    await afterRestore(rig.pool, options);
    const next = { ...fence, epoch: fence.epoch + 1n };
    await rig.journal.takeOver(next, atMs, 0);
    await rig.journal.open(newPlace(), next);
    const [row] = await new PostgresResultLog(rig.deps).readUnpublished(10, [0]);
    expect(row?.id).toBeGreaterThan(1n << 40n);
  });

  it('the numbers of the audit trail do too: an export that goes on behind its last line misses none', async () => {
    await using rig = await journalRig();
    await afterRestore(rig.pool, options);
    await recordAction(rig.pool, 'token.create', {});
    const [line] = await rig.rows<{ id: string }>('select max(id)::text as id from audit_log');
    expect(BigInt(line?.id ?? 0)).toBeGreaterThan(1_000_000_000n);
  });

  it('a lane that is made while a generation begins has it too', async () => {
    await using rig = await storeRig();
    const loss = await rig.rival();
    await loss.query('begin');
    await loss.query(`select public.begin_generation(0, 7, 'h-1', 'operator', 'r', 'the test')`);
    const made = rig.lanes.acquire(4, 'new', 6_000);
    await eventually(async () => {
      expect(await rig.rows(`select from pg_stat_activity where wait_event_type = 'Lock'`)).toHaveLength(1);
    });
    await loss.query('commit');
    expect(await made).toMatchObject({ kind: 'held', generation: 7 });
  });

  it('a lane never falls back behind the others', async () => {
    await using rig = await storeRig();
    await rig.lanes.acquire(3, 'other', 6_000);
    await rig.rows('update lanes set generation = 5 where lane = 0');
    expect(await rig.lanes.acquire(3, 'other', 6_000)).toMatchObject({ kind: 'held', generation: 5 });
  });
});
