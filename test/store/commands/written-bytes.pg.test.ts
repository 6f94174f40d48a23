import { describe, expect, it } from 'vitest';
import { encodeCommandResult } from '../../../src/domain/encode-command-result.ts';
import type { CommandJournal, CommandStep } from '../../../src/store/commands/command-journal.ts';
import { PostgresResultLog } from '../../../src/store/commands/result-log.ts';
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
import { manyCommands } from '../../support/commands/many-commands.ts';
import { readRig } from '../../support/orders/read-rig.ts';
import { sampleUpdate } from '../../support/orders/sample-update.ts';
import { batch, head, storeRig, update } from '../../support/orders/store-rig.ts';
import { storedOrder } from '../../support/orders/stored-orders.ts';
import { eventually } from '../../support/runs/poll.ts';

describe('issue: Each step of a command wrote its whole row again, and an entry in each index.', () => {
  it('what happens to a command is one row each, and a plain place has few entries in indexes', async () => {
    await using rig = await journalRig();
    const place = newPlace({ sendingAtMs: atMs });
    await rig.journal.open(place, fence);
    const command = await rig.journal.find(place.commandId);
    if (command === undefined) throw new Error('it is not there');
    const accepted = await rig.journal.step(answered(command, 'accepted'), fence);
    if (accepted.kind !== 'stepped') throw new Error(accepted.kind);
    const { commandId, version } = accepted.command;
    await rig.journal.step({ commandId, version, to: 'applied', orderId: 'o-1', atMs, evidence: [] }, fence);
    expect(await rig.rows('select kind from journal order by number')).toEqual([
      { kind: 'opening' },
      { kind: 'step' },
      { kind: 'step' },
    ]);
    await rig.pool.query('vacuum analyze journal');
    const entries = await rig.rows<{ name: string; entries: number }>(
      `select c.relname as name, c.reltuples::int as entries from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid = 'journal'::regclass`,
    );
    expect(entries.reduce((sum, each) => sum + each.entries, 0)).toBeLessThanOrEqual(13);
    expect(await rig.rows('select from open_commands')).toEqual([]);
  });

  it.each([
    [
      'the key of a principal',
      "kind = 'opening' and principal = 'desk' and idempotency_key = 'k'",
      'journal_one_per_key',
    ],
    ['a key of any principal', "kind = 'opening' and idempotency_key = 'k'", 'journal_one_per_key'],
    [
      'places that came to nothing',
      "shard = 0 and resolved_at is not null and (order_id is null or state <> 'applied')",
      'journal_came_to_nothing',
    ],
    [
      'commands of an order',
      "stream = 'account' and order_id = 'o' and kind = 'opening' and order_id is not null",
      'journal_of_order',
    ],
  ])('%s is looked up by an index', async (_what, condition, index) => {
    await using rig = await journalRig();
    await rig.pool.query(
      manyCommands(`select gen_random_uuid() as command_id, 'desk' as principal, 'k-' || n as idempotency_key, 'place' as kind, 'account' as stream,
        'acct-' || n % 50 as account_id, 'AAPL' as symbol, 'buy' as side, '{}'::json as request, null::text as caller_ref, 'open' as state, 'o-' || n as order_id,
        now() as created_at from generate_series(1, 3000) n`),
    );
    await rig.pool.query('analyze journal');
    const plan = await rig.rows(`explain select command_id from journal where ${condition}`);
    expect(JSON.stringify(plan)).toContain(index);
  });
});

describe('issue: Each step of a command wrote its request again, and once more when published.', () => {
  const reason = { code: 'FOREIGN', message: 'ü "quoted" \\ and 9007199254740993', status: 504 };

  /** The texts of all steps as they were when each was taken, and nothing had happened since. */
  function recording(journal: CommandJournal) {
    const texts: string[] = [];
    const recorded = <Result extends { kind: string }>(result: Result): Result => {
      if ('command' in result) texts.push(encodeCommandResult(result.command as never));
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

    const log = new PostgresResultLog(rig.deps);
    const rows = await log.readUnpublished(100, [0]);
    expect(rows.map(({ payload }) => payload)).toEqual(texts);
    const written = 'select seq, xmin::text, ctid::text from journal order by seq';
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
