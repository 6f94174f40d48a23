import { pino } from 'pino';
import { startPostgres } from '../src/demo/devstack/start-postgres.ts';
import { planShards } from '../src/domain/plan-shards.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { shardKeeperDefaults } from '../src/service/fleet/shard-keeper.ts';
import { PostgresShardStore } from '../src/store/fleet/shard-store.ts';
import { migrate } from '../src/store/migrate.ts';
import { createPool } from '../src/store/session/pool.ts';
import { processUsage } from './sample-process.ts';

/**
 * What it costs each process to look at its fleet twice a second, at rest and while shards move,
 * and to plan: by the number of processes and of shards. `node bench/fleet-size.ts`
 */
const log = pino({ level: 'warn' }, pino.destination(2));
const sizes = [
  { processes: 2, shards: 16 },
  { processes: 8, shards: 64 },
  { processes: 32, shards: 256 },
  { processes: 64, shards: 1024 },
  { processes: 200, shards: 4096 },
];
const looks = 300;
const looksASecond = 2;

interface Spent {
  readonly lookMs: number;
  readonly serverMs: number;
}

/**
 * Mean processor time of a look, of this process and of the session `pid`. `before`: what others do
 * before each look, in another session.
 */
async function measureLooks(store: PostgresShardStore, pid: number, before: () => Promise<unknown>): Promise<Spent> {
  const spent = { lookMs: 0, serverMs: 0 };
  for (let i = -20; i < looks; i += 1) {
    await before();
    const [ours, theirs] = [process.cpuUsage(), processUsage(pid)?.cpuSeconds ?? 0];
    await store.look(120_000);
    const { user, system } = process.cpuUsage(ours);
    if (i < 0) continue;
    spent.lookMs += (user + system) / 1000 / looks;
    spent.serverMs += (((processUsage(pid)?.cpuSeconds ?? 0) - theirs) * 1000) / looks;
  }
  return spent;
}

async function measureSize(url: string, { processes, shards }: (typeof sizes)[number]): Promise<void> {
  const pool = createPool({ log }, { url, applicationName: 'bench', maxConnections: 1 });
  await pool.query('truncate public.lanes, public.shards');
  await pool.query(
    `insert into public.lanes (lane, holder, epoch, renewed_at, held_since, weight, version, address)
     select n, 'tidemark-6d4f9c7b5-' || n, 1, clock_timestamp() + interval '1 minute', clock_timestamp() - interval '1 minute', 1, '0.1.0', 'http://10.1.2.3:8080'
     from generate_series(0, $1::int - 1) as n`,
    [processes],
  );
  // All but one member of a fleet at rest hold their part; one has just come, and has none.
  await pool.query(
    'insert into public.shards (shard, lane, epoch) select n, n % $1::int, 1 from generate_series(0, $2::int - 1) as n',
    [processes - 1, shards],
  );
  await pool.query('analyze public.lanes, public.shards');
  const store = new PostgresShardStore({ pool });
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
  const pid = rows[0]?.pid ?? 0;
  // A session of its own: what a taking costs is no part of a look.
  const others = createPool({ log }, { url, applicationName: 'bench-others', maxConnections: 1 });
  const move = () =>
    others.query('update public.shards set epoch = epoch + 1 where shard = $1', [Math.floor(Math.random() * shards)]);
  const atRest = await measureLooks(store, pid, async () => {});
  const moving = await measureLooks(store, pid, move);
  await others.end();

  const { members, assignments } = await store.look(120_000);
  const plan = () => {
    for (const { lane } of members) planShards(lane, members, assignments, shardKeeperDefaults);
  };
  plan();
  const plans = process.cpuUsage();
  for (let i = 0; i < 5; i += 1) plan();
  const planned = process.cpuUsage(plans);
  const planMs = (planned.user + planned.system) / 1000 / 5 / members.length;
  const share = (ms: number, of: number) => `${((ms * looksASecond * of) / 10).toFixed(1)} %`;
  const each = ({ lookMs, serverMs }: Spent) =>
    `${lookMs.toFixed(2)} ms of the process and ${serverMs.toFixed(2)} ms of Postgres`;
  console.log(
    `${processes} processes, ${shards} shards: a look at rest ${each(atRest)}, while shards move ${each(moving)}, a plan ${planMs.toFixed(3)} ms. Of one core: ` +
      `each process ${share(atRest.lookMs + planMs, 1)}, Postgres for all of them ${share(atRest.serverMs, processes)}, and ${share(moving.serverMs, processes)} while shards move`,
  );
  await pool.end();
}

if (import.meta.main) {
  const postgres = await startPostgres({ clock: systemClock, log, cacheDir: '.cache' });
  try {
    await migrate({ url: postgres.url, log, clock: systemClock });
    for (const size of sizes) await measureSize(postgres.url, size);
  } finally {
    await postgres.stop();
  }
}
