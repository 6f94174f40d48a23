// What a user saw: A restore of the database gave 79 errors, and then no migration could run.

import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeTemporaryFolder } from '../../src/runtime/temporary-folder.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { call } from '../support/rest/rest-call.ts';
import { eventually } from '../support/runs/poll.ts';
import { debianTools, packagedTools, type ServerWithTools, startServer } from '../support/runs/postgres-with-tools.ts';
import { World } from '../support/runs/service-under-test.ts';
import { onServer } from '../support/servers/on-server.ts';

const repository = join(import.meta.dirname, '../..');

/** The blocks of a page in this language, a list of lines each, comments left out. */
function blocks(page: string, language: string): string[][] {
  const text = readFileSync(join(repository, page), 'utf8');
  return [...text.matchAll(new RegExp(`\`\`\`${language}\\n([^\`]*)\`\`\``, 'g'))].map(([, block = '']) =>
    block.split('\n').filter((line) => line.trim() !== ''),
  );
}

const [dump = [], restore = []] = blocks('docs/runbooks/after-restore.md', 'sh');
const [roles = []] = blocks('docs/runbooks/after-restore.md', 'sql');

/** As an administrator: each line of the block of SQL, with a password. */
async function makeRoles(server: ServerWithTools, lines: readonly string[], database = 'tidemark'): Promise<void> {
  await onServer(server.url('postgres', 'postgres'), async (client) => {
    for (const line of lines)
      await client.query(line.replace("'…'", "'pw'").replace('database tidemark ', `database ${database} `));
  });
}

/** The folder of the tools of Postgres that are tried. */
let tools = '';

/** Runs lines as a person would in a shell; ends at the first that fails. */
function shell(lines: readonly string[], folder: string, env: Record<string, string>): string {
  const script = [
    'set -e',
    `tidemark() { "${process.execPath}" "${repository}/bin/tidemark.js" "$@"; }`,
    ...lines,
  ].join('\n');
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
    cwd: folder,
    env: { PATH: `${tools}:${process.env['PATH']}`, HOME: folder, NO_COLOR: '1', ...env },
    encoding: 'utf8',
    timeout: 120_000,
  });
  expect({ lines, status, said: `${stdout}${stderr}` }).toMatchObject({ status: 0 });
  return `${stdout}${stderr}`;
}

/** The rows of every table that has any: how many, and a hash of all of them. */
async function contents(url: string): Promise<Record<string, string>> {
  return onServer(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select format('public.%I', relname) as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
       and not relispartition order by relname`,
    );
    const found: Record<string, string> = {};
    for (const { name } of rows) {
      const { rows: all } = await client.query(
        `select count(*)::int as count, md5(string_agg(t::text, e'\\n' order by t::text)) as hash from ${name} as t`,
      );
      found[name] = `${all[0].count} ${all[0].hash}`;
    }
    return found;
  });
}

interface Finding {
  readonly part: string;
  readonly verdict: string;
  readonly detail: string;
}

/** What doctor says of the database, as this login. */
function doctor(folder: string, url: string, env: Record<string, string>): Finding[] {
  const out = shell(['tidemark doctor --json || true'], folder, { ...env, DATABASE_URL: url });
  const parts = ['database', 'sessions', 'rights', 'schema', 'owners', 'grants', 'lanes'];
  return (JSON.parse(out) as Finding[]).filter(({ part, verdict }) => parts.includes(part) && verdict !== 'ok');
}

const versions: readonly (readonly [string, () => string | Promise<string>])[] = [
  ['the newest of Debian', debianTools],
  ['18', packagedTools],
];

it.each(versions)(
  'a database of Postgres (%s) is dumped and restored by the lines of the runbook with the documented roles alone, and serves',
  async (_version, toolsOf) => {
    const folder = await makeTemporaryFolder('restore-');
    tools = await toolsOf();
    using source = await startServer(tools);
    using target = await startServer(tools);
    const admin = (server: ServerWithTools, database = 'tidemark') => server.url('tidemark_admin', database);
    const service = (server: ServerWithTools, database = 'tidemark') => server.url('tidemark_service', database);
    await makeRoles(source, roles);
    shell(['tidemark migrate', `psql "$DATABASE_URL" -c 'grant tidemark_app to tidemark_service'`], folder, {
      DATABASE_URL: admin(source),
    });

    const { description } = await runningSandbox({ market: { rate: 20, openOrders: 30, knownOrders: 30 } });
    const world = await World.create({
      platform: platformSettings(description),
      databaseUrl: service(source),
      env: { TIDEMARK_COMMANDS: 'on' },
    });
    const before = await world.serve();
    await before.waitLive();
    const terms = { accountId: 'SIM-1001', symbol: description.predictionSymbols[0], outcome: 'YES', side: 'buy' };
    const body = { ...terms, orderType: 'limit', timeInForce: 'gtc', quantity: '10', price: '0.01' };
    const placed = await eventually(async () => {
      const answer = await call(before, 'POST', '/v1/predictions/orders', { body, key: 'place-1', wait: 20 });
      expect([answer.status, answer.body.result]).toEqual([200, 'applied']);
      return answer;
    });
    await control(description, '/rate', { rate: 0 });
    expect(await before.stop()).toBe(0);

    shell(dump, folder, { ADMIN: admin(source) });
    const env = { KAFKA_BROKERS: world.brokers.join(','), TIDEMARK_LOG_LEVEL: 'error' };
    const wanted = await contents(source.url('postgres', 'tidemark'));
    expect(Number(wanted['public.orders']?.split(' ')[0])).toBeGreaterThan(20);
    expect(Number(wanted['public.journal']?.split(' ')[0])).toBeGreaterThan(1);

    // On another server, and on the same one, where the roles are there.
    const without = (line: string) => !line.startsWith('tidemark doctor');
    await makeRoles(target, roles);
    await makeRoles(
      source,
      roles.filter((line) => line.startsWith('create database')),
      'again',
    );
    for (const [server, database] of [
      [target, 'tidemark'],
      [source, 'again'],
    ] as const) {
      const said = shell(restore.filter(without), folder, { ADMIN: admin(server, database) });
      expect(said).toMatch(/The schema is current; nothing to do/);
      expect(said).not.toMatch(/error|warning/i);
      expect(await contents(server.url('postgres', database))).toEqual(wanted);
      expect(doctor(folder, service(server, database), env)).toEqual([]);
    }

    const restored = await World.create({ platform: platformSettings(description), databaseUrl: service(target) });
    shell(['tidemark after-restore --at-least 2'], folder, { DATABASE_URL: admin(target) });
    const after = await restored.serve();
    await after.waitLive();
    await eventually(async () => {
      const found = await call(after, 'GET', `/v1/commands/${placed.body.commandId}`).catch(() => undefined);
      const ids = await restored.query<{ order_id: string }>('select order_id from orders order by 1');
      expect(ids.map(({ order_id: id }) => id)).toContain(placed.body.orderId);
      expect(found === undefined || found.status < 500).toBe(true);
    });
    expect(await after.stop()).toBe(0);

    // The lines that people try: doctor names what they leave, and a
    // migration says it before it changes anything.
    for (const [database, flags] of [
      ['naive', ''],
      ['unowned', '--no-owner'],
      ['unruled', '--no-acl'],
    ] as const) {
      await makeRoles(source, ['create database tidemark owner tidemark_admin;'], database);
      shell([`pg_restore ${flags} --dbname="$ADMIN" tidemark.dump || true`], folder, {
        ADMIN: admin(source, database),
      });
      const named = doctor(folder, admin(source, database), env).filter(({ verdict }) => verdict === 'fail');
      expect(named.length, database).toBeGreaterThan(50);
      const bad = flags === '--no-acl' ? 'grants' : 'owners';
      const words =
        bad === 'owners'
          ? /belongs to tidemark_admin, and tidemark_owner is expected$/
          : /every role may EXECUTE on function/;
      expect(named).toContainEqual(expect.objectContaining({ part: bad, detail: expect.stringMatching(words) }));
      const migrated = shell(['tidemark migrate 2>&1 || true'], folder, { DATABASE_URL: admin(source, database) });
      if (bad === 'owners') expect(migrated).toMatch(/belongs to tidemark_admin, and tidemark_owner is expected/);
    }
    rmSync(folder, { recursive: true, force: true });
  },
  600_000,
);
