import { describe, expect, it } from 'vitest';
import { encodeCommandOutcome } from '../../../src/domain/encode-command-outcome.ts';
import type { CommandJournal, CommandStep } from '../../../src/store/commands/command-journal.ts';
import { PostgresOutcomeLog } from '../../../src/store/commands/outcome-log.ts';
import {
  answer,
  answered,
  atMs,
  attemptId,
  fence,
  newCancel,
  newPlace,
  newReplace,
  sending,
  unknown,
} from '../../support/commands/journal-fixtures.ts';
import { journalRig } from '../../support/commands/journal-rig.ts';
import { readRig } from '../../support/orders/read-rig.ts';
import { sampleUpdate } from '../../support/orders/sample-update.ts';
import { batch, head, storeRig, update } from '../../support/orders/store-rig.ts';
import { storedOrder } from '../../support/orders/stored-orders.ts';
import { eventually } from '../../support/runs/poll.ts';

describe('issue: Each step of a command wrote its whole row again, and an entry in each index.', () => {
  /** What a step changes before the command is final, and an attempt before it is answered. */
  const changing = {
    commands: [
      'state',
      'version',
      'reason',
      'presumed_absent',
      'pending_revision',
      'pending_version',
      'misses',
      'updated_at',
    ],
    attempts: ['state', 'sending_at', 'answered_at', 'reason'],
  } as const;

  it.each(['commands', 'attempts'] as const)('no index of %s names a column that a step changes', async (table) => {
    await using rig = await journalRig();
    // A column of a predicate or of an expression counts as well.
    const named = await rig.rows<{ index: string; name: string }>(
      `select i.indexrelid::regclass::text as index, a.attname as name
     from pg_index i
     join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = i.indexrelid and d.refobjid = i.indrelid and d.refobjsubid > 0
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = d.refobjsubid
     where i.indrelid = $1::regclass order by 1, 2`,
      [table],
    );
    const changes: readonly string[] = changing[table];
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter(({ name }) => changes.includes(name))).toEqual([]);
  });

  it('the mark and a step that resolves nothing stay in the page of the row, and add no entry to an index', async () => {
    await using rig = await journalRig();
    await rig.pool.query('create extension pageinspect');
    /** Versions of the table's one row that were updated, and how many of them within the page. */
    const hotOf = async (table: string) => {
      const [row] = await rig.rows<{ hot: number; all: number }>(
        `select count(*) filter (where t_infomask2 & 16384 > 0)::int as hot, count(*)::int as all
       from heap_page_items(get_raw_page($1, 0)) where t_xmax::text <> '0' and t_infomask & 2048 = 0 and t_infomask & 128 = 0`,
        [table],
      );
      return row;
    };
    const command = await sending(rig.journal, newPlace());
    expect(await hotOf('attempts')).toEqual({ hot: 1, all: 1 });
    const { commandId, version } = command;
    await rig.journal.step({ commandId, version, to: 'accepted', atMs: command.createdAtMs, evidence: [] }, fence);
    expect(await hotOf('commands')).toEqual({ hot: 1, all: 1 });
  });

  it.each([
    ['the key of a principal', "principal = 'desk' and idempotency_key = 'k' and key_held", 'commands_one_per_key'],
    ['a key of any principal', "idempotency_key = 'k'", 'commands_one_per_key'],
    ['places that came to nothing', 'shard = 0 and came_to_nothing', 'commands_came_to_nothing'],
    ['commands of an order', "stream = 'account' and order_id = 'o' and kind <> 'place'", 'commands_of_order'],
  ])('%s is looked up by an index', async (_what, condition, index) => {
    await using rig = await journalRig();
    await rig.pool.query(
      `insert into commands (command_id, shard, principal, idempotency_key, request_hash, kind, stream, account_id, symbol, side, request, state, version,
       order_id, deadline_at, created_at, updated_at)
     select gen_random_uuid(), 1, 'desk', 'k-' || n, 'h', 'place', 'account', 'acct-' || n % 50, 'AAPL', 'buy', '{}', 'open', 1, 'o-' || n, now(), now(), now()
     from generate_series(1, 3000) n`,
    );
    await rig.pool.query('analyze commands');
    const plan = await rig.rows(`explain select command_id from commands where ${condition}`);
    expect(JSON.stringify(plan)).toContain(index);
  });
});

describe('issue: Each step of a command wrote its request again, and once more when published.', () => {
  const reason = { code: 'FOREIGN', message: 'ü "quoted" \\ and 9007199254740993', status: 504 };

  /** The texts of all steps as they were when each was taken, and nothing had happened since. */
  function recording(journal: CommandJournal) {
    const texts: string[] = [];
    const recorded = <Result extends { kind: string }>(result: Result): Result => {
      if ('command' in result) texts.push(encodeCommandOutcome(result.command as never));
      return result;
    };
    const both: CommandJournal = {
      ...journal,
      open: async (...asked) => recorded(await journal.open(...asked)),
      step: async (...asked) => recorded(await journal.step(...asked)),
    };
    return { journal: both, texts };
  }

  /** Commands of each kind, with everything that a step can change. */
  async function everyStep(journal: CommandJournal): Promise<void> {
    const step = async (change: CommandStep) => {
      const result = await journal.step(change, fence);
      if (result.kind !== 'stepped') throw new Error(`it was ${result.kind}`);
      return result.command;
    };
    const first = await sending(journal, newPlace({ callerRef: 'my-1' }));
    const nextAttemptId = attemptId();
    const again = await step({ ...answered(first, 'not_sent', { reason }), to: 'open', nextAttemptId });
    await journal.markSending(nextAttemptId, atMs + 7, fence);
    const { commandId: supersedes, version } = await step(
      answered(again, 'unknown', { misses: 2, presumedAbsent: true }),
    );
    await sending(journal, newPlace({ supersedes }));
    await step({ commandId: supersedes, version, to: 'applied', orderId: 'o-1', atMs, evidence: [] });
    const { commandId } = await unknown(journal, newReplace('p-1'), { reason });
    const seenPendingAt = { revision: 4, sourceVersion: 9_007_199_254_740_995n };
    await step({ commandId, version: 2, to: 'accepted', seenPendingAt, atMs, evidence: [answer()] });
    await step({ ...answered(await sending(journal, newCancel('p-1')), 'accepted'), to: 'moot' });
    const { attemptId: _none, ...refused } = newCancel('p-1', { refusal: reason });
    await journal.open(refused, fence);
  }

  it('publishes the very texts of the steps, to Kafka and by REST, and writes no event again', async () => {
    await using rig = await readRig();
    const { head, update } = storedOrder({ orderId: 'o-1', stream: 'account', accountId: 'acct-1', status: 'new' });
    await rig.commit({ heads: [head], updates: [update] });
    const { journal, texts } = recording(rig.journal);
    await everyStep(journal);
    expect(texts).toHaveLength(11);

    const log = new PostgresOutcomeLog(rig.deps);
    const rows = await log.readUnpublished(100, [0]);
    expect(rows.map(({ payload }) => payload)).toEqual(texts);
    const written = 'select id, xmin::text, ctid::text from command_events order by id';
    const before = await rig.rows(written);
    await log.markPublished(rows);
    expect(await log.readUnpublished(100, [0])).toEqual([]);
    expect(await rig.rows(written)).toEqual(before);

    await eventually(async () => {
      const { horizon } = await rig.reads.eventHorizon();
      const { events } = await rig.reads.eventsAfter({ tx: 0n, number: 0n }, horizon, 100);
      expect(events.map(({ payload }) => payload)).toEqual(texts);
    });
  });

  it('keeps an event that was not published, however old it is', async () => {
    await using rig = await readRig();
    await unknown(rig.journal);
    const [first, second] = await new PostgresOutcomeLog(rig.deps).readUnpublished(10, [0]);
    await new PostgresOutcomeLog(rig.deps).markPublished(first === undefined ? [] : [first]);
    await expect(rig.pool.query('delete from command_events where id = $1', [second?.id])).rejects.toMatchObject({
      code: 'TM010',
    });
    await rig.pool.query('delete from command_events where id = $1', [first?.id]);
  });
});

describe('issue: An update took 3 to 4 kB of write-ahead log, twice and more what it says.', () => {
  const orders = Array.from({ length: 500 }, (_, i) => `7d0c1d1e-5a6b-4c3d-9e8f-${String(i).padStart(12, '0')}`);

  it('an update takes less than 1.6 times its own bytes of write-ahead log', async () => {
    await using rig = await storeRig();
    const payloads = [1, 2, 3, 4, 5, 6].map((revision) => sampleUpdate({ revision }).padEnd(1_300));
    const write = async (revision: number) => {
      const payload = payloads[revision - 1] ?? '';
      const state = JSON.stringify(JSON.parse(payload).order);
      const heads = orders.map((id) => head(id, revision, { state }));
      const updates = orders.map((id) => update(id, revision, { payload }));
      expect((await rig.store.applyBatch(batch(rig.epoch, revision, [], { heads, updates }))).kind).toBe('committed');
    };
    await rig.rows('create extension pg_walinspect');
    await write(1);
    await write(2);
    await using _kept = await keptLog(rig);
    // The first change of a page after a checkpoint logs the whole page, whenever one begins.
    await rig.rows('checkpoint');
    const before = await logPosition(rig);
    for (const revision of [3, 4, 5, 6]) await write(revision);
    const written = await bytesWithoutPages(rig, before);
    expect(written).toBeGreaterThan(1_300 * 4 * orders.length);
    expect(written).toBeLessThan(1.6 * 1_300 * 4 * orders.length);
  });

  type Rig = Awaited<ReturnType<typeof storeRig>>;

  /**
   * The server keeps its log from here on. A checkpoint removes what no slot needs, and each drop
   * of a database makes one.
   */
  async function keptLog({ rows }: Rig): Promise<AsyncDisposable> {
    await rows("select pg_create_physical_replication_slot('measured_' || current_database(), true)");
    return {
      async [Symbol.asyncDispose]() {
        await rows("select pg_drop_replication_slot('measured_' || current_database())");
      },
    };
  }

  const logPosition = async ({ rows }: Rig) =>
    (await rows<{ lsn: string }>('select pg_current_wal_insert_lsn() as lsn'))[0]?.lsn;

  /** Of this database alone: other tests write to the same server. */
  async function bytesWithoutPages({ rows }: Rig, from: string | undefined): Promise<number> {
    const [row] = await rows<{ bytes: string }>(
      `select sum(record_length - fpi_length) as bytes
     from pg_get_wal_records_info($1, pg_current_wal_flush_lsn())
     where block_ref like '%rel %/' || (select oid from pg_database where datname = current_database()) || '/%'`,
      [from],
    );
    return Number(row?.bytes);
  }
});
