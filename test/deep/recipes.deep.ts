import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { javaProgram, pythonPackage } from '../support/consumer-languages.ts';
import { freshTopics, logPublisher, writeForeign } from '../support/kafka-fixture.ts';
import { eventually } from '../support/poll.ts';
import { provenBatches } from '../support/proven-batches.ts';
import { recipe } from '../support/recipe.ts';

/** The statements of a page, one after the other, in the folder of `orders.jsonl`; then the newest states, as JSON. */
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
      rows = database.query("select order_id, concat(generation, '.', revision), status, toString(cum_qty) from orders final order by order_id", "JSONCompact")
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
  all.filter(({ topic }) => topic === 'updates'),
);
// Newest first, and then all of it again.
const shuffled = [...rows.toReversed(), ...rows];

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
      { version, status: state, cumQty: Number(cumQty) },
    ]);
    expect(new Map(kept as never)).toEqual(
      new Map([...newest()].map(([order, state]) => [order, { ...state, cumQty: Number(state.cumQty) }])),
    );
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
        TOPIC_PREFIX: topics.updates.replace('tidemark.order-updates.v1', ''),
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
