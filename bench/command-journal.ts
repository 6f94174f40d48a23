import { cpuUsage } from 'node:process';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/demo/devstack/start-postgres.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { systemRandom, timeOrderedUuid } from '../src/runtime/random.ts';
import type { CommandJournal, CommandStep, NewCommand } from '../src/store/commands/command-journal.ts';
import { GroupCommit } from '../src/store/commands/group-commit.ts';
import { createPostgresJournal } from '../src/store/commands/postgres-journal.ts';
import { PostgresResultLog } from '../src/store/commands/result-log.ts';
import { migrate } from '../src/store/migrate.ts';
import { createPool } from '../src/store/session/pool.ts';
import { percentile } from './percentile.ts';
import { ProcessTree } from './sample-process.ts';
import { benchLog as log } from './stack.ts';

const fence = { shard: 0, epoch: 1n };
/** Places whose results are published by one read, as at 100 a second. */
const together = 10;

type Step = 'open' | 'answer' | 'applied' | 'published';

/** What one step wrote to the write-ahead log, without images of whole pages. */
interface Wal {
  readonly step: Step;
  /** A table or an index, and the kind of record. */
  readonly relation: string;
  readonly records: number;
  readonly bytes: number;
}

/**
 * The journal alone: places from their opening to their published result, one after the other,
 * behind a checkpoint and among `known` commands. What is counted is written, so it is the same on
 * every machine. `pg_walinspect` of Postgres 16 or newer counts it.
 */
async function measureJournal(url: string, { places, known }: Options) {
  return withJournal(url, known, async ({ journal, results, watch }) => {
    const spent: Wal[] = [];
    const count: Count = async (step, work) => {
      const from = await position(watch);
      const result = await work();
      spent.push(...(await walOf(step, watch, from, await position(watch))));
      return result;
    };
    for (let i = 1; i <= places; i += 1) {
      await placed(journal, count);
      if (i % together === 0) await count('published', () => publishAll(results));
    }
    return [table(spent, 'step', places), table(spent, 'relation', places)];
  });
}

interface Options {
  readonly places: number;
  readonly known: number;
}

interface Measured {
  readonly journal: CommandJournal;
  readonly results: PostgresResultLog;
  readonly pool: pg.Pool;
  readonly watch: pg.Client;
}

/** The journal as the service has it, behind a checkpoint and among `known` commands. */
async function withJournal<T>(url: string, known: number, work: (measured: Measured) => Promise<T>): Promise<T> {
  await migrate({ url, log, clock: systemClock });
  const pool = createPool({ log }, { url, applicationName: 'bench', maxConnections: 8 });
  const watch = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 300_000 });
  await watch.connect();
  try {
    const deps = { pool, clock: systemClock, random: systemRandom };
    const groups = new GroupCommit(deps);
    const journal = createPostgresJournal({ ...deps, groups });
    const results = new PostgresResultLog({ ...deps, numbers: groups.numbers });
    await watch.query('create extension if not exists pg_walinspect');
    await watch.query(
      "insert into public.lanes (lane, holder, epoch, renewed_at) values (0, 'bench', 1, now()) on conflict do nothing",
    );
    await watch.query('update public.shards set epoch = $2 where shard = $1', [fence.shard, fence.epoch.toString()]);
    await journal.takeOver(fence, systemClock.nowMs(), 0);
    for (let i = 1; i <= known; i += 1) {
      await placed(journal, (_, work) => work());
      if (i % together === 0) await publishAll(results);
    }
    for (const statement of ['vacuum analyze', 'checkpoint', 'checkpoint']) await watch.query(statement);
    return await work({ journal, results, pool, watch });
  } finally {
    await watch.end();
    await pool.end();
  }
}

/**
 * Places of which so many are under way at once, each from its opening to its last step; results
 * are published and audit lines written ten times a second, as the service does. The write-ahead
 * log is in bytes a place, without images of pages; commits are those of the whole server.
 */
async function measureAtOnce(url: string, serverPid: number, options: Options & { readonly atOnce: number }) {
  const { places, known, atOnce } = options;
  return withJournal(url, known, async ({ journal, results, pool, watch }) => {
    const server = new ProcessTree(serverPid);
    let statements = 0;
    let left = places;
    const tookMs: number[] = [];
    const worker = async () => {
      for (; left > 0; ) {
        left -= 1;
        const beganMs = systemClock.monotonicMs();
        await placed(journal, (_, work) => work());
        tookMs.push(systemClock.monotonicMs() - beganMs);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    // The first places warm up the connections and the compiler.
    [left, tookMs.length] = [places, 0];
    pool.on('acquire', () => {
      statements += 1;
    });
    const from = await position(watch);
    const [cpu, serverCpu, beganMs] = [cpuUsage(), server.usage()?.cpuSeconds ?? 0, systemClock.monotonicMs()];
    const working = Promise.all(Array.from({ length: atOnce }, worker));
    const beside = publishUntil(results, working);
    await working;
    const ms = systemClock.monotonicMs() - beganMs;
    const { user, system } = cpuUsage(cpu);
    const serverSeconds = (server.usage()?.cpuSeconds ?? 0) - serverCpu;
    await beside;
    const { rows } = await watch.query<{ commits: string; bytes: string }>(
      `select count(*) filter (where resource_manager = 'Transaction' and record_type like '%COMMIT%') as commits, sum(record_length - fpi_length) as bytes
       from pg_get_wal_records_info($1, $2)`,
      [from, await position(watch)],
    );
    const a = (value: number) => Math.round((value * 100) / places) / 100;
    return {
      'at once': atOnce,
      'places a second': Math.round((places * 1000) / ms),
      'ms p50': Math.round(percentile(tookMs, 0.5) * 10) / 10,
      'ms p99': Math.round(percentile(tookMs, 0.99) * 10) / 10,
      statements: a(statements),
      commits: a(Number(rows[0]?.commits)),
      'log bytes': a(Number(rows[0]?.bytes)),
      'ms of Node': a((user + system) / 1000),
      'ms of Postgres': a(serverSeconds * 1000),
    };
  });
}

async function publishUntil(results: PostgresResultLog, working: Promise<unknown>): Promise<void> {
  let over = false;
  const ended = working.then(() => {
    over = true;
  });
  while (!over) {
    await Promise.race([systemClock.sleep(100), ended]);
    await publishAll(results);
  }
}

type Count = <T>(step: Step, work: () => Promise<T>) => Promise<T>;

/** One place, each of its steps inside `count`. */
async function placed(journal: CommandJournal, count: Count): Promise<void> {
  const asked = newPlace();
  const { commandId, attemptId = '' } = asked;
  const atMs = asked.atMs + 30;
  const orderId = `7d9f0a52-4c1e-4a53-9d0e-${systemRandom.uuid().slice(24)}`;
  const step = (change: Omit<CommandStep, 'commandId' | 'atMs'>) => journal.step({ commandId, atMs, ...change }, fence);
  const ends = [
    await count('open', () => journal.open({ ...asked, sendingAtMs: atMs }, fence)),
    await count('answer', () =>
      step({
        ...{ version: 1, to: 'accepted', attempt: { attemptId, from: 'sending', to: 'accepted' } },
        evidence: [{ kind: 'answer', code: 'accepted', detail: { status: 201, body: { orderId } }, attemptId, atMs }],
      }),
    ),
    await count('applied', () =>
      step({
        ...{ version: 2, to: 'applied', orderId },
        evidence: [{ kind: 'update', code: 'order_seen', detail: { orderId, revision: 1, cause: 'stream' }, atMs }],
      }),
    ),
  ].map(({ kind }) => kind);
  if (`${ends}` !== 'opened,stepped,stepped') throw new Error(`the steps of a place were ${ends}`);
}

function newPlace(): NewCommand {
  const atMs = systemClock.nowMs();
  return {
    commandId: timeOrderedUuid(systemRandom, atMs),
    attemptId: `tm-${timeOrderedUuid(systemRandom, atMs)}`,
    principal: 'desk-1',
    idempotencyKey: systemRandom.uuid(),
    requestHash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    request: {
      kind: 'place',
      stream: 'account',
      accountId: 'acct-000017',
      terms: { symbol: 'AAPL', side: 'buy', type: 'limit', qty: '10', timeInForce: 'day', price: '187.5' },
    },
    deadlineAtMs: atMs + 10_000,
    atMs,
  };
}

async function publishAll(results: PostgresResultLog): Promise<void> {
  for (;;) {
    const rows = await results.readUnpublished(200, [0]);
    if (rows.length === 0) return;
    await results.markPublished(rows);
  }
}

/** Everything up to it is on the disk: a commit of this session has waited for that. */
async function position(watch: pg.Client): Promise<string> {
  await watch.query("select pg_logical_emit_message(true, 'bench', '')");
  const { rows } = await watch.query<{ at: string }>('select pg_current_wal_flush_lsn()::text as at');
  return rows[0]?.at ?? '';
}

async function walOf(step: Step, watch: pg.Client, from: string, to: string): Promise<Wal[]> {
  const { rows } = await watch.query<{ relation: string; records: string; bytes: string }>(
    `select coalesce(c.relname, '?') || ' ' || b.record_type as relation, count(*) as records,
       sum(b.record_length - b.block_fpi_length) as bytes
     from pg_get_wal_block_info($1, $2, false) b
     left join pg_class c on c.relfilenode = b.relfilenode and c.relfilenode <> 0
     where b.block_id = 0 group by 1`,
    [from, to],
  );
  return rows.map(({ relation, records, bytes }) => ({
    ...{ step, relation },
    records: Number(records),
    bytes: Number(bytes),
  }));
}

/** A place each, the dearest first. */
function table(spent: readonly Wal[], by: 'step' | 'relation', places: number) {
  const sum = (values: readonly number[]) =>
    Math.round((values.reduce((total, value) => total + value, 0) * 10) / places) / 10;
  return [['in all', spent] as const, ...Map.groupBy(spent, (each) => each[by])]
    .map(([name, each]) => ({
      ...{ name, records: sum(each.map(({ records }) => records)), bytes: sum(each.map(({ bytes }) => bytes)) },
    }))
    .sort((x, y) => y.bytes - x.bytes);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      places: { type: 'string', default: '300' },
      known: { type: 'string', default: '2000' },
      'at-once': { type: 'string', multiple: true, default: [] },
    },
  });
  const postgres = await startEmbeddedPostgres({ clock: systemClock, log }, { fast: false });
  try {
    const options = { places: Number(values.places), known: Number(values.known) };
    const rows = [];
    for (const atOnce of values['at-once'].map(Number))
      rows.push(await measureAtOnce(postgres.url, postgres.pid ?? 0, { ...options, atOnce }));
    if (rows.length > 0) console.table(rows);
    else for (const figures of await measureJournal(postgres.url, options)) console.table(figures);
  } finally {
    await postgres.stop();
  }
}
