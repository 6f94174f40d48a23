import { EventEmitter } from 'node:events';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import pg, { type Pool, type QueryResultRow } from 'pg';
import { readMigrations } from '../../../src/store/migrations.ts';
import { cacheDir } from './cache-dir.ts';

type WallClock = () => number;

/**
 * The server's side of the driver's socket. Invariant: an exchange is over when `write` returns, so
 * no turn of the event loop passes, and what waits for nothing but the database is driven by a
 * virtual clock.
 */
class InnerSocket extends EventEmitter {
  readonly writable = true;
  private readonly server: PGlite;
  private readonly nowMs: WallClock;
  private readonly waiting: Buffer[] = [];
  private corked: Buffer[] | undefined;
  private answering = false;

  constructor(server: PGlite, nowMs: WallClock) {
    super();
    this.server = server;
    this.nowMs = nowMs;
  }

  connect(): void {
    process.nextTick(() => this.emit('connect'));
  }

  cork(): void {
    this.corked ??= [];
  }

  uncork(): void {
    const all = Buffer.concat(this.corked ?? []);
    this.corked = undefined;
    if (all.length > 0) this.write(all);
  }

  write(message: Buffer): boolean {
    if (this.corked !== undefined) {
      this.corked.push(message);
      return true;
    }
    this.waiting.push(message);
    // The driver writes the next message from within an answer, and its parser takes one at a time.
    if (this.answering) return true;
    this.answering = true;
    try {
      for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift())
        this.emit('data', Buffer.from(this.answer(next)));
    } finally {
      this.answering = false;
    }
    return true;
  }

  /** Postgres asks this process for the time: `clock_timestamp()` and `now()` are the caller's. */
  private answer(message: Buffer): Uint8Array {
    const { now } = Date;
    const nowMs = this.nowMs();
    Date.now = () => nowMs;
    try {
      return this.server.execProtocolRawSync(message);
    } finally {
      Date.now = now;
    }
  }

  setNoDelay(): void {}
  setKeepAlive(): void {}
  end(): void {}
  destroy(): void {}
}

/**
 * What refuses to delete rests while the database is emptied. Not `session_replication_role`, by
 * which every guard rests: each change of it forgets all plans, and to plan anew took as long again
 * as all else.
 */
const guardsThatRest = `do $$ declare v text; begin
    for v in select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal and tgtype & 8 > 0 loop
      execute replace(replace(v, 'CREATE TRIGGER', 'CREATE OR REPLACE TRIGGER'), ' EXECUTE FUNCTION',
        ' WHEN (current_setting(''rig.emptying'', true) is distinct from ''on'') EXECUTE FUNCTION');
    end loop;
  end $$`;

/** How many tests' rows are taken away before the space that they had is used again. */
const resetsToVacuum = 25;

/**
 * Postgres itself in this process (WebAssembly), with the schema that the migrations
 * make. One session, by the driver of production, and no other: locks meet nobody.
 */
export class InnerPostgres {
  /** The database's clock. */
  nowMs: WallClock = () => 0;
  readonly pool: Pool;
  private readonly client: pg.Client;
  private resets = 0;
  private emptying = '';

  private constructor(server: PGlite) {
    const stream = new InnerSocket(server, () => this.nowMs());
    this.client = new pg.Client({ user: 'postgres', database: 'postgres', stream: () => stream as never });
    // Each call of the one session listens to its errors.
    this.client.setMaxListeners(0);
    const session = Object.assign(this.client, { release: () => undefined });
    this.pool = { query: session.query.bind(session), connect: async () => session } as unknown as Pool;
  }

  static async start(): Promise<InnerPostgres> {
    const inner = new InnerPostgres(await startServer());
    const { client } = inner;
    await client.connect();
    await client.query(`create role tidemark_owner; create role tidemark_app; create role tidemark_reader;
      grant usage, create on schema public to tidemark_owner; create schema drizzle authorization tidemark_owner;
      set role tidemark_owner`);
    for (const { statements } of await readMigrations()) for (const text of statements) await client.query(text);
    // A commit need not be durable, and counts and plans cost more than they bring.
    await client.query(`reset role; set synchronous_commit = off; set jit = off; set track_counts = off;
      set plan_cache_mode = force_generic_plan;
      select public.ensure_log_partitions(1000000); insert into public.shards select generate_series(0, 15)`);
    await client.query(guardsThatRest);
    // Those that name others go first.
    const { rows } = await client.query<{ name: string }>(`select oid::regclass::text as name from pg_class c
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> 'shards'
      order by exists (select from pg_constraint where conrelid = c.oid and contype = 'f') desc`);
    inner.emptying = `set rig.emptying = on; ${rows.map(({ name }) => `delete from ${name};`).join(' ')} update shards set epoch = 0 where epoch > 0; set rig.emptying = off`;
    return inner;
  }

  /** What a query shows, before the next line runs. */
  rows<R extends QueryResultRow>(text: string, values: readonly unknown[] = []): R[] {
    let shown: { rows: R[] } | undefined;
    let failed: Error | null = null;
    this.client.query<R>({ text, values: [...values] }, (error, result) => {
      failed = error;
      shown = result;
    });
    if (failed !== null) throw failed;
    if (shown === undefined) throw new Error('the session is busy: an answer was not there at once');
    return shown.rows;
  }

  /** Past the guards, as only a superuser may: to prepare a test. */
  force(text: string, values: readonly unknown[] = []): void {
    this.rows("set session_replication_role = 'replica'");
    try {
      this.rows(text, values);
    } finally {
      this.rows("set session_replication_role = 'origin'");
    }
  }

  /** As new. What asks for the former rows afterwards asks the wrong database. */
  empty(): void {
    this.rows(this.emptying);
    this.resets += 1;
    if (this.resets % resetsToVacuum === 0) this.rows('vacuum');
  }
}

/**
 * From a cluster that was made once for all runs: to make one takes 4 to 6 s of processor time, to
 * load it 1.
 */
async function startServer(): Promise<PGlite> {
  const { version } = JSON.parse(readFileSync('node_modules/@electric-sql/pglite/package.json', 'utf8'));
  const file = join(cacheDir, `pglite-${version}.tar`);
  const kept = await readFile(file).catch(() => undefined);
  if (kept !== undefined) return PGlite.create({ loadDataDir: new Blob([kept]) });
  const server = await PGlite.create();
  const made = await server.dumpDataDir('none');
  mkdirSync(cacheDir, { recursive: true });
  // Whole or not at all: several workers start at once.
  writeFileSync(`${file}.${process.pid}`, Buffer.from(await made.arrayBuffer()));
  renameSync(`${file}.${process.pid}`, file);
  return server;
}
