import { parseArgs } from 'node:util';
import pg from 'pg';
import { pino } from 'pino';
import { startPostgres } from '../src/demo/devstack/start-postgres.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { migrate } from '../src/store/migrate.ts';
import { readMigrations } from '../src/store/migrations.ts';

// What `tidemark migrate` takes on a large database of the first build, and for how long a reader
// waits meanwhile: npm exec -- node bench/migrate.ts [--rows 10000000] [--orders 1000000]
// [--commands 20000] [--bytes 200], the last of a payload and of a state.

const number = (text: string) => Number.parseInt(text, 10);
const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { rows: text, orders: text, commands: text, bytes: text } });
const rows = number(values.rows ?? '10000000');
const orders = number(values.orders ?? '1000000');
const commands = number(values.commands ?? '20000');
const bytes = number(values.bytes ?? '200');

const log = pino({ level: 'info' }, pino.destination(2));
const postgres = await startPostgres({ clock: systemClock, log, cacheDir: '.cache' });
const name = `bench_migrate_${process.pid}`;
const url = new URL(postgres.url);
url.pathname = `/${name}`;
const options = { url: url.href, log, clock: systemClock };

await on(postgres.url, [`create database ${name}`]);
try {
  await migrate({ ...options, migrations: (await readMigrations()).slice(0, 1) });
  await on(url.href, [...fillLog(), ...fillJournal(), 'checkpoint']);
  log.info('filled');
  const probes = await Promise.all(
    [
      `select state from orders where stream = 'prediction' and order_id = 'order-1'`,
      'select payload from order_updates where lane = 0 and seq = 1',
      'select state from commands order by created_at limit 1',
      `insert into audit_log (at, principal, action) values (now(), 'a person', 'note')`,
    ].map(startProbe),
  );
  const startMs = performance.now();
  await migrate(options);
  const tookMs = Math.round(performance.now() - startMs);
  const waits = await Promise.all(probes.map((stop) => stop()));
  process.stdout.write(`${JSON.stringify({ rows, orders, commands, bytes, tookMs, waits }, null, 2)}\n`);
} finally {
  await on(postgres.url, [`drop database ${name}`]);
  await postgres.stop();
}

/** Orders in turn, so an order's rows lie all over the log; its index is built at the end. */
function fillLog(): string[] {
  const partitions = `select p.name from log_partitions() p where exists (select from pg_constraint where conrelid = p.name::regclass and contype = 'u')`;
  return [
    'set session_replication_role = replica',
    `do $$ declare p text; begin for p in ${partitions} loop execute format('alter table %I drop constraint %I', p, p || '_stream_order_id_revision_key'); end loop; end $$`,
    `insert into orders (stream, order_id, lane, account_id, symbol, status, revision, reduced_from, state, join_state)
     select 'prediction', 'order-' || n, 0, 'acct-' || n % 50, 'FED-CUT', 'filled', ${Math.ceil(rows / orders)}, 0, json_build_object('n', n, 'fill', repeat('x', ${bytes})), '{}'
     from generate_series(1, ${orders}) n`,
    ...Array.from(
      { length: Math.ceil(rows / orders) },
      (_, round) => `insert into order_updates (lane, batch, stream, order_id, account_id, revision, payload)
        select 0, ${round}, 'prediction', 'order-' || n, 'acct-' || n % 50, ${round + 1}, repeat('x', ${bytes}) from generate_series(1, ${orders}) n`,
    ),
    `do $$ declare p text; begin for p in select name from log_partitions() loop execute format('alter table %I add unique (stream, order_id, revision)', p); end loop; end $$`,
    `insert into lanes (lane, epoch, renewed_at) values (0, 1, '2026-01-01')`,
  ];
}

/** Places that ended, each with one attempt, three pieces of evidence and three events. */
function fillJournal(): string[] {
  return [
    `insert into commands (command_id, shard, principal, idempotency_key, request_hash, kind, stream, account_id, symbol, side, request, state, version, order_id, deadline_at, created_at, updated_at, settled_at)
     select gen_random_uuid(), n % 16, 'desk', 'key-' || n, md5(n::text), 'place', 'prediction', 'acct-' || n % 50, 'FED-CUT', 'buy',
       json_build_object('kind', 'place', 'fill', repeat('x', 300)), 'applied', 3, 'order-' || n, now(), now() + n * interval '1 ms', now(), now() from generate_series(1, ${commands}) n`,
    `insert into attempts (attempt_id, command_id, number, state, epoch, prepared_at) select 'tm-' || command_id, command_id, 1, 'accepted', 1, created_at from commands`,
    `insert into evidence (command_id, number, kind, code, detail, at) select command_id, n, 'update', 'landed', '{}', created_at from commands, generate_series(1, 3) n`,
    `insert into command_events (command_id, version, snapshot, published_at)
     select command_id, n, jsonb_set(command_json(c)::jsonb, '{attempts,0,state}', case n when 1 then '"sending"' else '"accepted"' end::jsonb)
         || jsonb_build_object('version', n, 'state', (array['open', 'accepted', 'applied'])[n], 'settledAtMs', case n when 3 then extract(epoch from settled_at) * 1000 end), now()
     from commands c, generate_series(1, 3) n`,
  ];
}

async function on(address: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** A session that sends the statement again and again; how long the longest took, and how many. */
async function startProbe(statement: string) {
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  let stopped = false;
  let longestMs = 0;
  let count = 0;
  const run = (async () => {
    while (!stopped) {
      const startMs = performance.now();
      await client.query(statement);
      longestMs = Math.max(longestMs, performance.now() - startMs);
      count += 1;
      await systemClock.sleep(5);
    }
  })();
  return async () => {
    stopped = true;
    await run;
    await client.end();
    return { statement, count, longestMs: Math.round(longestMs) };
  };
}
