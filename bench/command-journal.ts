import { parseArgs } from 'node:util';
import pg from 'pg';
import { pino } from 'pino';
import type { EmbeddedPostgres } from '../src/demo/devstack/running-postgres.ts';
import { startEmbeddedPostgres } from '../src/demo/devstack/start-postgres.ts';
import type { Command } from '../src/domain/command.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { systemRandom, timeOrderedUuid } from '../src/runtime/random.ts';
import type { CommandJournal, CommandStep, NewCommand } from '../src/store/commands/command-journal.ts';
import { PostgresOutcomeLog } from '../src/store/commands/outcome-log.ts';
import { createPostgresJournal } from '../src/store/commands/postgres-journal.ts';
import { migrate } from '../src/store/migrate.ts';
import { createPool } from '../src/store/session/pool.ts';
import { ProcessTree } from './sample-process.ts';

const log = pino({ level: 'warn' }, pino.destination(2));
const fence = { shard: 0, epoch: 1n };
const steps = ['open', 'mark', 'answer', 'applied', 'published'] as const;
/** Places whose outcomes are published by one read, as at 100 a second. */
const together = 10;

type Step = (typeof steps)[number];

/** Bytes of write-ahead log a place: records, and the images of whole pages after a checkpoint. */
interface Wal {
  records: number;
  recordBytes: number;
  imageBytes: number;
}

/**
 * The journal alone: places from their opening to their published outcome, one after the other,
 * behind a checkpoint and among `known` commands. What is counted is written, so it is the same on
 * every machine. `pg_walinspect` of Postgres 16 or newer counts it.
 */
async function measureJournal(
  { url, pid }: EmbeddedPostgres,
  { places, known }: { readonly places: number; readonly known: number },
) {
  await migrate({ url, log, clock: systemClock });
  const pool = createPool({ log }, { url, applicationName: 'bench', maxConnections: 2 });
  const watch = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 300_000 });
  await watch.connect();
  try {
    const deps = { pool, clock: systemClock, random: systemRandom };
    const journal = createPostgresJournal(deps);
    const outcomes = new PostgresOutcomeLog(deps);
    await watch.query('create extension if not exists pg_walinspect');
    await watch.query("insert into public.lanes (lane, holder, epoch, renewed_at) values (0, 'bench', 1, now())");
    await journal.takeOver(fence, systemClock.nowMs(), 0);
    const processor = await processorOf(journal, outcomes, pid, known);
    for (const statement of ['vacuum analyze', 'checkpoint', 'checkpoint']) await watch.query(statement);

    const spent = new Map<Step, Wal>(steps.map((step) => [step, { records: 0, recordBytes: 0, imageBytes: 0 }]));
    const relations = new Map<string, Wal>();
    const count = async (step: Step, work: () => Promise<unknown>) => {
      const from = await position(watch);
      await work();
      const to = await position(watch);
      add(spent.get(step), await walBetween(watch, from, to));
      for (const { relation, ...wal } of await walByRelation(watch, from, to)) {
        const sum = relations.get(relation) ?? { records: 0, recordBytes: 0, imageBytes: 0 };
        relations.set(relation, sum);
        add(sum, wal);
      }
    };
    for (let i = 1; i <= places; i += 1) {
      await placed(journal, count);
      if (i % together === 0) await count('published', () => publishAll(outcomes));
    }
    return {
      processor,
      bySteps: table(spent, places),
      byRelation: table(relations, places),
    };
  } finally {
    await watch.end();
    await pool.end();
  }
}

/** Microseconds of processor a place, of Node and of the server, once both are warm. Linux only. */
async function processorOf(journal: CommandJournal, outcomes: PostgresOutcomeLog, pid: number, known: number) {
  const run = async (count: number) => {
    for (let i = 1; i <= count; i += 1) {
      await placed(journal, async () => undefined);
      if (i % together === 0) await publishAll(outcomes);
    }
  };
  const server = new ProcessTree(pid);
  await run(known / 2);
  const [cpu, before] = [process.cpuUsage(), server.usage()?.cpuSeconds ?? 0];
  await run(known / 2);
  const { user, system } = process.cpuUsage(cpu);
  const micros = (sum: number) => Math.round(sum / (known / 2));
  return { node: micros(user + system), postgres: micros(((server.usage()?.cpuSeconds ?? 0) - before) * 1e6) };
}

type Count = (step: Step, work: () => Promise<unknown>) => Promise<unknown>;

/** Each step runs inside `count`; a count that does nothing with it lets it run all the same. */
async function placed(journal: CommandJournal, count: Count): Promise<void> {
  const asked = newPlace();
  const atMs = asked.atMs + 30;
  let command: Command | undefined;
  const run = async (step: Step, work: () => Promise<Command | undefined>) => {
    let ran = false;
    const once = async () => {
      ran = true;
      command = await work();
    };
    await count(step, once);
    if (!ran) await once();
  };
  await run('open', async () => {
    const opened = await journal.open(asked, fence);
    return opened.kind === 'opened' ? opened.command : undefined;
  });
  await run('mark', async () => {
    if ((await journal.markSending(asked.attemptId ?? '', atMs, fence)) !== true) throw new Error('not marked');
    return command;
  });
  const step = async (change: Omit<CommandStep, 'commandId' | 'version' | 'atMs'>) => {
    const result = await journal.step(
      { commandId: asked.commandId, version: command?.version ?? 0, atMs, ...change },
      fence,
    );
    if (result.kind !== 'stepped') throw new Error(`a step was ${result.kind}`);
    return result.command;
  };
  const attemptId = asked.attemptId ?? '';
  const orderId = `7d9f0a52-4c1e-4a53-9d0e-${systemRandom.uuid().slice(24)}`;
  await run('answer', () =>
    step({
      to: 'accepted',
      attempt: { attemptId, from: 'sending', to: 'accepted' },
      evidence: [{ kind: 'answer', code: 'accepted', detail: { status: 201, body: { orderId } }, attemptId, atMs }],
    }),
  );
  await run('applied', () =>
    step({
      to: 'applied',
      orderId,
      evidence: [{ kind: 'update', code: 'order_seen', detail: { orderId, revision: 1, cause: 'stream' }, atMs }],
    }),
  );
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

async function publishAll(outcomes: PostgresOutcomeLog): Promise<void> {
  for (;;) {
    const rows = await outcomes.readUnpublished(200, [0]);
    if (rows.length === 0) return;
    await outcomes.markPublished(rows.map(({ id }) => id));
  }
}

async function position(watch: pg.Client): Promise<string> {
  const { rows } = await watch.query<{ at: string }>('select pg_current_wal_insert_lsn()::text as at');
  return rows[0]?.at ?? '';
}

async function walBetween(watch: pg.Client, from: string, to: string): Promise<Wal> {
  await flushed(watch, to);
  const { rows } = await watch.query<{ records: string; bytes: string; images: string }>(
    `select count(*) as records, coalesce(sum(record_length - fpi_length), 0) as bytes, coalesce(sum(fpi_length), 0) as images
     from pg_get_wal_records_info($1, $2) where resource_manager not in ('Standby', 'XLOG')  or fpi_length > 0`,
    [from, to],
  );
  const [row] = rows;
  return { records: Number(row?.records), recordBytes: Number(row?.bytes), imageBytes: Number(row?.images) };
}

async function walByRelation(watch: pg.Client, from: string, to: string): Promise<({ relation: string } & Wal)[]> {
  const { rows } = await watch.query<{ relation: string; records: string; bytes: string; images: string }>(
    `select coalesce(c.relname, '?') || ' ' || b.record_type as relation, count(*) as records,
       sum(b.record_length - b.block_fpi_length) as bytes, sum(b.block_fpi_length) as images
     from pg_get_wal_block_info($1, $2, false) b
     left join pg_class c on c.relfilenode = b.relfilenode and c.relfilenode <> 0
     where b.block_id = 0 group by 1`,
    [from, to],
  );
  return rows.map(({ relation, records, bytes, images }) => ({
    relation,
    records: Number(records),
    recordBytes: Number(bytes),
    imageBytes: Number(images),
  }));
}

/** A commit that waited for the disk took everything before it there. */
async function flushed(watch: pg.Client, to: string): Promise<void> {
  for (let left = 100; left > 0; left -= 1) {
    const { rows } = await watch.query<{ done: boolean }>('select pg_current_wal_flush_lsn() >= $1::pg_lsn as done', [
      to,
    ]);
    if (rows[0]?.done === true) return;
    await watch.query("select pg_logical_emit_message(true, 'bench', '')");
  }
  throw new Error('the write-ahead log was not flushed');
}

function add(sum: Wal | undefined, { records, recordBytes, imageBytes }: Wal): void {
  if (sum === undefined) return;
  sum.records += records;
  sum.recordBytes += recordBytes;
  sum.imageBytes += imageBytes;
}

function table(of: ReadonlyMap<string, Wal>, places: number) {
  const a = (value: number) => Math.round((value * 10) / places) / 10;
  const rows = [...of].map(([name, { records, recordBytes, imageBytes }]) => ({
    ...{ name, records: a(records), recordBytes: a(recordBytes), imageBytes: a(imageBytes) },
  }));
  rows.sort((x, y) => y.recordBytes - x.recordBytes);
  const sum = { records: 0, recordBytes: 0, imageBytes: 0 };
  for (const each of of.values()) add(sum, each);
  return [
    ...rows,
    { name: 'in all', records: a(sum.records), recordBytes: a(sum.recordBytes), imageBytes: a(sum.imageBytes) },
  ];
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { places: { type: 'string', default: '300' }, known: { type: 'string', default: '2000' } },
  });
  const postgres = await startEmbeddedPostgres({ clock: systemClock, log }, { fast: false });
  try {
    const figures = await measureJournal(postgres, { places: Number(values.places), known: Number(values.known) });
    const { node, postgres: server } = figures.processor;
    console.log(`us of processor a place: ${node} of Node, ${server} of Postgres`);
    console.table(figures.bySteps);
    console.table(figures.byRelation);
  } finally {
    await postgres.stop();
  }
}
