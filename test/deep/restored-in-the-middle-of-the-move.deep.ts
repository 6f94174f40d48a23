// What a user saw: No test said whether a backup made while states are moved has all of them.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { makeTemporaryFolder } from '../../src/runtime/temporary-folder.ts';
import { afterRestore } from '../../src/store/fleet/lane-store.ts';
import { maintainLog } from '../../src/store/maintenance.ts';
import { migrate } from '../../src/store/migrate.ts';
import { createPool } from '../../src/store/session/pool.ts';
import { stateRig } from '../support/orders/state-rig.ts';
import { eventually } from '../support/runs/poll.ts';
import { packagedTools } from '../support/runs/postgres-with-tools.ts';
import { testLog } from '../support/runs/test-log.ts';
import { firstBuildDatabase } from '../support/schema/builds-of-before.ts';
import { emptyDatabase, type TestDatabase } from '../support/servers/database.ts';
import { onServer } from '../support/servers/on-server.ts';

type Rig = Awaited<ReturnType<typeof stateRig>>;

let tools = '';
beforeAll(async () => {
  tools = await packagedTools();
}, 300_000);

/** Runs a program of Postgres; what it said is in the error. */
async function run(program: string, ...args: string[]): Promise<void> {
  const child = spawn(join(tools, program), args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: 120_000 });
  const said: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => said.push(String(chunk)));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${said.join('')}`);
}

/** The runbook's line for a backup; resolves with the file. */
async function dump({ database }: { readonly database: TestDatabase }, folder: string): Promise<string> {
  const file = join(folder, 'tidemark.dump');
  await run('pg_dump', '--format=custom', '--encoding=UTF8', `--file=${file}`, `--dbname=${database.url}`);
  return file;
}

/** The runbook's lines for a restore, and `tidemark after-restore`. */
async function restore(file: string, pending: readonly string[] = []): Promise<TestDatabase> {
  const database = await emptyDatabase();
  const options = { url: database.url, log: testLog, clock: systemClock };
  await migrate({ ...options, rolesOnly: true });
  await run('pg_restore', '--exit-on-error', '--single-transaction', `--dbname=${database.url}`, file);
  expect(await migrate(options)).toEqual({ applied: pending });
  const pool = createPool({ log: testLog }, { url: database.url, applicationName: 'test', maxConnections: 1 });
  try {
    await afterRestore(pool, { lane: 0, least: 2, haltId: 'restored', by: 'a person', partitionRows: 10 });
  } finally {
    await pool.end();
  }
  return database;
}

/** Orders of two lanes that nothing is heard of any more, in five partitions. */
async function idleOrders(): Promise<Rig> {
  const rig = await stateRig();
  const ids = Array.from({ length: 24 }, (_, index) => `order-${index}`);
  for (const id of ids) await rig.write(Number(id.slice(-1)) % 2 === 0 ? 0 : 1, [id], 2);
  await rig.acknowledge();
  return rig;
}

/** How many orders have their state in `orders`, and in the log alone. */
async function places(rig: Rig): Promise<{ moved: number; inLog: number }> {
  const [row] = await rig.rows<{ moved: number; inLog: number }>(
    'select count(state)::integer as moved, count(*) filter (where state is null)::integer as "inLog" from orders',
  );
  return row ?? { moved: 0, inLog: 0 };
}

/** The moments at which the backup is made. Each leaves some states moved, and some not. */
const moments: readonly (readonly [string, (rig: Rig, folder: string) => Promise<string>])[] = [
  [
    'between two steps',
    async (rig, folder) => {
      await rig.move(4);
      return dump(rig, folder);
    },
  ],
  [
    'within a step that has not committed',
    async (rig, folder) => {
      await rig.move(3);
      const step = await rig.rival();
      await step.query('begin');
      await step.query("select move_order_states('0', 3)");
      const file = await dump(rig, folder);
      await step.query('commit');
      return file;
    },
  ],
  [
    'while one step follows another',
    async (rig, folder) => {
      await rig.move(3);
      // Before the first of these steps, or between two of them: the backup is of one moment.
      const dumped = dump(rig, folder);
      while ((await rig.move(1)) > 0) await systemClock.sleep(20);
      return dumped;
    },
  ],
  [
    'by a program that has its snapshot, and waits for the first of its locks until all states have moved',
    async (rig, folder) => {
      await rig.move(4);
      const person = await rig.rival();
      await person.query('begin; lock table public.credentials');
      const dumped = dump(rig, folder);
      await eventually(async () => expect(await rig.rows('select from pg_locks where not granted')).toHaveLength(1));
      while ((await rig.move(100)) > 0);
      expect(await rig.drop()).toBeNull();
      await person.query('rollback');
      return dumped;
    },
  ],
];

it.each(moments)('a backup made %s has every state, and the move goes on in its copy', async (_, backUp) => {
  await using rig = await idleOrders();
  const folder = await makeTemporaryFolder('restore-');
  const file = await backUp(rig, folder);
  await using copy = await stateRig({ database: await restore(file), newest: rig.newest });
  rmSync(folder, { recursive: true, force: true });
  const { moved, inLog } = await places(copy);
  expect([moved > 0, inLog > 0, moved + inLog]).toEqual([true, true, 24]);
  await copy.expectStates();

  await copy.write(0, ['order-0', 'order-23', 'new']);
  await copy.acknowledge();
  await copy.expectStates();
  // What is left of the log is the partition that the jump of its numbers began.
  await eventually(async () => {
    await maintainLog(copy.pool, { partitionRows: 10, retentionMs: 0 });
    expect(await places(copy)).toEqual({ moved: 22, inLog: 3 });
    expect(await copy.rows('select * from moved_states')).toEqual([]);
  });
  await copy.expectStates();
  const seqs = await copy.rows<{ id: string }>('select order_id as id from order_updates order by 1');
  expect(seqs.map(({ id }) => id)).toEqual(['new', 'order-0', 'order-23']);
});

it('a backup of the first build is restored, migrated and has every order', async () => {
  await using first = await firstBuildDatabase();
  const folder = await makeTemporaryFolder('restore-');
  const file = await dump({ database: first }, folder);
  await using copy = await restore(file, ['0001_written_once', '0002_one_answer']);
  rmSync(folder, { recursive: true, force: true });
  const states = async ({ url }: TestDatabase, table: string) =>
    onServer(url, async (client) => {
      const { rows } = await client.query(`select stream, order_id, revision, state::text from ${table} order by 1, 2`);
      return rows;
    });
  expect(await states(copy, 'current_orders')).toEqual(await states(first, 'orders'));
  const revisions = `select o.order_id, array_agg(c.revision) as found, array_agg(n order by n desc) as wanted from orders o
    cross join lateral generate_series(1, o.revision) n left join lateral order_chain(o.stream, o.order_id, n - 1) c on c.revision = n group by 1`;
  const { rows } = await onServer(copy.url, (client) => client.query(revisions));
  for (const { found, wanted } of rows) expect(found.toSorted()).toEqual(wanted.toSorted());
});
