import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Kafka, logLevel } from 'kafkajs';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { provenBatches } from '../support/orders/proven-batches.ts';
import { eventually } from '../support/runs/poll.ts';
import { recipe } from '../support/runs/recipe.ts';
import { freshDatabase } from '../support/servers/database.ts';
import { freshTopics, logPublisher, writeForeign } from '../support/servers/kafka-fixture.ts';
import { onServer } from '../support/servers/on-server.ts';
import { prefixOf } from '../support/servers/topics.ts';
import { flinkSql, javaProgram, kafkaConnect, pythonPackage } from './parts/consumer-languages.ts';

/**
 * The statements of a page, one after the other, in the folder of
 * `orders.jsonl`; then the newest states, as JSON.
 */
const programs = {
  DuckDB: {
    package: 'duckdb==1.4.1',
    code: `
      import duckdb
      database = duckdb.connect()
      for statement in statements: database.execute(statement)
      rows = database.execute("select order_id, generation || '.' || revision, status, cum_qty::text from orders order by order_id").fetchall()
      print(json.dumps([list(row) for row in rows]))`,
  },
  ClickHouse: {
    package: 'chdb-core==26.9.0',
    code: `
      import chdb
      from chdb import session
      database = session.Session("database")
      for statement in statements: database.query(statement)
      rows = database.query("select order_id, concat(generation, '.', revision), status, cum_qty from orders final order by order_id", "JSONCompact")
      print(json.dumps(json.loads(str(rows))["data"]))`,
  },
};

let folder: string;
let child: ChildProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-recipe-'));
});
afterEach(() => {
  child?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const rows = [...provenBatches(30), ...provenBatches(3, { generation: 2 })].flatMap(({ rows: all }) =>
  all.filter(({ topic }) => topic === 'updates').map((row) => ({ ...row, payload: withManyDigits(row.payload) })),
);

/** A cut at 10, 18 or 38 places has to show: a decimal of ours has up to 40. */
function withManyDigits(payload: string): string {
  return payload.replace(/"cumQty":"(\d+)"/, `"cumQty":"$1.${'0'.repeat(39)}1"`);
}
// Newest first, then all of it again in order, and at last once more with the oldest as the last:
// to keep what came last is wrong.
const shuffled = [...rows.toReversed(), ...rows, ...rows.toReversed()];

/** By order, as text. */
function newest(): Map<string, { version: string; status: string; cumQty: string }> {
  return new Map(
    rows
      .map(({ payload }) => JSON.parse(payload))
      .map(({ orderId, generation, revision, order: { status, cumQty } }) => [
        orderId,
        { version: `${generation}.${revision}`, status, cumQty },
      ]),
  );
}

describe.each(Object.entries(programs))('the recipe for %s', (name, { package: wanted, code }) => {
  it('keeps the newest state of each order, whatever comes twice, late or in any order', async () => {
    const packages = await pythonPackage(wanted);
    writeFileSync(join(folder, 'orders.jsonl'), shuffled.map(({ payload }) => `${payload}\n`).join(''));
    const program = `import json, sys\nstatements = json.load(sys.stdin)\n${code.replaceAll(/^ {6}/gm, '')}`;
    const { status, stdout, stderr } = spawnSync('python3', ['-c', program], {
      cwd: folder,
      input: JSON.stringify(recipe(name)),
      encoding: 'utf8',
      env: { ...process.env, PYTHONPATH: packages },
      timeout: 120_000,
    });
    expect(status, stderr).toBe(0);
    const kept = (JSON.parse(stdout) as string[][]).map(([order = '', version, state, cumQty]) => [
      order,
      { version, status: state, cumQty },
    ]);
    expect(new Map(kept as never)).toEqual(newest());
    expect(kept.length).toBeGreaterThan(10);
  }, 240_000);
});

describe('the recipe for Kafka Streams', () => {
  it('keeps the newest state of each order from both topics, over repeats and foreign records', async () => {
    const [program = '', ...args] = await javaProgram('OrdersTable.java');
    const brokers = inject('kafkaBrokers');
    const topics = await freshTopics(brokers);
    const { publisher } = logPublisher(brokers, topics);
    await publisher.publish(rows.slice(0, 40));
    await writeForeign(brokers, topics.updates, [{ key: rows[0]?.key ?? '', value: 'no JSON' }]);
    const state = rows.slice(-10).map(({ key, payload: value }) => ({ key, value }));
    await writeForeign(brokers, topics.state, state);
    await publisher.publish(shuffled);
    const said = new Map<string, string>();
    const warned: string[] = [];
    child = spawn(program, args, {
      env: {
        ...process.env,
        KAFKA_BROKERS: brokers.join(','),
        TOPIC_PREFIX: prefixOf(topics),
        GROUP_ID: topics.updates,
        STATE_DIR: folder,
      },
    });
    if (child.stderr !== null) createInterface(child.stderr).on('line', (line) => warned.push(line));
    if (child.stdout !== null)
      createInterface(child.stdout).on('line', (line) => {
        const [key = '', version = '', status] = line.split(' ');
        said.set(key.replace('prediction:', ''), `${version} ${status}`);
      });
    const wanted = new Map([...newest()].map(([order, { version, status }]) => [order, `${version} ${status}`]));
    await eventually(() => expect(said, warned.join('\n')).toEqual(wanted), { deadlineMs: 120_000, everyMs: 200 });
    await publisher.close();
  }, 240_000);
});

describe('the recipe for Flink SQL', () => {
  it('keeps the newest state of each order from both topics, whatever comes twice, late or in any order', async () => {
    const [table = '', statements = ''] = recipe('Flink SQL');
    const { command, env } = await flinkSql();
    const { brokers, topics } = await publishedTopics();
    await using database = await freshDatabase();
    await onServer(database.url, (client) => client.query(table));
    // Flink's sessions are not ours: they need the schema where the table is.
    await onServer(database.url, (client) =>
      client.query(
        `do $$ begin execute format('alter database %I set search_path = public', current_database()); end $$`,
      ),
    );
    await writeForeign(brokers, topics.updates, [{ key: rows[0]?.key ?? '', value: 'no JSON' }]);
    const { hostname, port, pathname, username, password } = new URL(database.url);
    const own = {
      topic: `${topics.state};${topics.updates}`,
      'properties.bootstrap.servers': brokers.join(','),
      url: `jdbc:postgresql://${hostname}:${port}${pathname}?stringtype=unspecified`,
      username: decodeURIComponent(username),
      password: decodeURIComponent(password),
    };
    // It ends at the end of the topics, and the program waits for that.
    const bounded = options(statements, own).replace("'format' =", "'scan.bounded.mode' = 'latest-offset', 'format' =");
    writeFileSync(join(folder, 'orders.sql'), `set 'table.dml-sync' = 'true';\n${bounded}`);
    const [program = '', ...args] = command;
    const { status, stdout, stderr } = spawnSync(
      program,
      [...args, '-f', join(folder, 'orders.sql'), '-hist', join(folder, 'history')],
      { encoding: 'utf8', env: { ...process.env, ...env }, timeout: 180_000 },
    );
    // It ends with 0 after a statement that fails as well.
    expect([status, stdout.includes('[ERROR]')], `${stdout}${stderr}`).toEqual([0, false]);
    const { rows: kept } = await onServer(database.url, (client) =>
      client.query(
        "select order_id as key, generation || '.' || revision as version, status, cum_qty from tidemark_newest",
      ),
    );
    expectNewest(kept, '', stdout);
  }, 300_000);
});

describe('the recipe for Kafka Connect', () => {
  it('keeps the newest state of each order from both topics, whatever comes twice, late or in any order', async () => {
    const [table = '', worker = '', connector = ''] = recipe('Kafka Connect');
    const { command, plugins } = await kafkaConnect();
    const { brokers, topics } = await publishedTopics();
    await using database = await freshDatabase();
    await onServer(database.url, (client) => client.query(table));
    // The files of the page, at the addresses of this run.
    const own = { 'bootstrap.servers': brokers.join(','), 'plugin.path': plugins, listeners: 'http://127.0.0.1:0' };
    writeFileSync(
      join(folder, 'worker'),
      settings(worker, {
        ...own,
        'offset.storage.file.filename': join(folder, 'offsets'),
        'offset.flush.interval.ms': '500',
      }),
    );
    writeFileSync(join(folder, 'orders'), settings(connector, { topics: `${topics.state},${topics.updates}` }));
    const { hostname, port, pathname, username, password } = new URL(database.url);
    const [program = '', ...args] = command;
    child = spawn(program, [...args, join(folder, 'worker'), join(folder, 'orders')], {
      env: {
        ...process.env,
        JDBC_URL: `jdbc:postgresql://${hostname}:${port}${pathname}`,
        JDBC_USER: decodeURIComponent(username),
        JDBC_PASSWORD: decodeURIComponent(password),
      },
    });
    const said: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      if (stream !== null) createInterface(stream).on('line', (line) => said.push(line));
    const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    await eventually(
      async () => {
        for (const topic of [topics.state, topics.updates]) {
          const ends = await admin.fetchTopicOffsets(topic);
          const [read] = await admin.fetchOffsets({ groupId: 'connect-tidemark-orders', topics: [topic] });
          const reached = new Map(read?.partitions.map(({ partition, offset }) => [partition, offset]));
          for (const { partition, high } of ends)
            if (high !== '0') expect(reached.get(partition), said.join('\n')).toBe(high);
        }
      },
      { deadlineMs: 120_000, everyMs: 500 },
    );
    await admin.disconnect();
    child.kill('SIGKILL');
    const { rows: kept } = await onServer(database.url, (client) =>
      client.query("select key, generation || '.' || revision as version, status, cum_qty from tidemark_records"),
    );
    expectNewest(kept, 'prediction:', said.join('\n'));
  }, 240_000);
});

/**
 * Topics of their own with every record, twice and out of order in that of the updates, and the
 * oldest ones in that of the state.
 */
async function publishedTopics() {
  const brokers = inject('kafkaBrokers');
  const topics = await freshTopics(brokers);
  const { publisher } = logPublisher(brokers, topics);
  await publisher.publish(shuffled);
  await publisher.close();
  const state = rows.slice(0, 10).map(({ key, payload: value }) => ({ key, value }));
  await writeForeign(brokers, topics.state, state);
  return { brokers, topics };
}

interface KeptRow {
  readonly key: string;
  readonly version: string;
  readonly status: string;
  readonly cum_qty: string;
}

/** `said`: what the program printed, for the message of a failure. */
function expectNewest(kept: readonly KeptRow[], keyPrefix: string, said: string): void {
  const states = new Map(kept.map(({ key, version, status, cum_qty }) => [key, { version, status, cumQty: cum_qty }]));
  expect(states, said).toEqual(new Map([...newest()].map(([order, state]) => [`${keyPrefix}${order}`, state])));
  expect(kept.length).toBeGreaterThan(10);
}

/**
 * A file of settings, with the values of this run. Each is one that the file
 * has, or one that it leaves to its default.
 */
function settings(text: string, own: Record<string, string>): string {
  const kept = text.split('\n').filter((line) => !Object.keys(own).some((name) => line.startsWith(`${name}=`)));
  return [...kept, ...Object.entries(own).map(([name, value]) => `${name}=${value}`)].join('\n');
}

/** Statements with the values of this run in their options, each of which is there. */
function options(statements: string, own: Record<string, string>): string {
  return Object.entries(own).reduce((text, [name, value]) => {
    const [before, after, ...more] = text.split(new RegExp(`'${name.replaceAll('.', '\\.')}' = '[^']*'`));
    if (before === undefined || after === undefined || more.length > 0)
      throw new Error(`${name} is not there, or twice`);
    return `${before}'${name}' = '${value}'${after}`;
  }, statements);
}
