// What a user saw: On a database with settings of its own, the service read and wrote other times and texts.

import type { ClientBase } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { storeParts } from '../../../src/service/run/store-parts.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { DatabaseSession } from '../../../src/store/session/database-session.ts';
import { createPool, createReadPool } from '../../../src/store/session/pool.ts';
import { PrimarySession } from '../../../src/store/session/primary-session.ts';
import { listQuarantined } from '../../support/orders/quarantine-rows.ts';
import { batch, quarantined } from '../../support/orders/store-rig.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { emptyDatabase, type TestDatabase } from '../../support/servers/database.ts';
import { onServer } from '../../support/servers/on-server.ts';
import { turnedForms, turnedRules, turnSettings } from '../../support/servers/turned-settings.ts';

const turned = { ...turnedForms, ...turnedRules };
const inBackground = { clock: systemClock, random: systemRandom, log: testLog };

let database: TestDatabase;

beforeAll(async () => {
  database = await emptyDatabase();
  await onServer(inject('postgresUrl'), (client) => client.query(turnSettings(database.name, turned)));
});

afterAll(() => database.drop());

/** What a session has of the settings that the database turned. */
async function settingsOf(session: Pick<ClientBase, 'query'>): Promise<Record<string, string>> {
  const { rows } = await session.query('select name, setting from pg_settings where name = any($1)', [
    Object.keys(turned),
  ]);
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}

/** Deadlines are each session's own. */
const apartFromDeadlines = ([name]: readonly [string, unknown]) =>
  !name.endsWith('_timeout') || name === 'idle_session_timeout';

describe('on a database that turned every setting we depend on', () => {
  it('migrate makes the schema and the shards, and does nothing the second time', async () => {
    const options = { url: database.url, log: testLog, clock: systemClock };
    expect((await migrate(options)).applied).not.toEqual([]);
    expect(await migrate(options)).toEqual({ applied: [] });
  });

  it.each(['DatabaseSession', 'PrimarySession', 'createPool', 'createReadPool'] as const)(
    '%s has ours',
    async (kind) => {
      const pooled = { url: database.url, applicationName: 'test', maxConnections: 1 };
      const config = { connectionString: database.url };
      const session = {
        DatabaseSession: () => new DatabaseSession(config),
        PrimarySession: () => new PrimarySession(config),
        createPool: () => createPool({ log: testLog }, { ...pooled, server: 'any' }),
        createReadPool: () => createReadPool({ log: testLog }, pooled),
      }[kind]();
      if (session instanceof DatabaseSession) await session.connect();
      try {
        const ours = await settingsOf(session);
        expect(Object.keys(ours)).toEqual(expect.arrayContaining(Object.keys(turnedForms)));
        for (const [name, value] of Object.entries(ours)) expect.soft(value, name).not.toBe(turned[name]);
        const { rows } = await session.query('select current_setting($1) as deadline', ['statement_timeout']);
        expect(rows[0]?.deadline).toBe(session instanceof DatabaseSession ? '0' : '4s');
      } finally {
        await session.end();
      }
    },
  );

  it('an address with options of its own keeps them, and can not turn ours', async () => {
    const url = new URL(database.url);
    url.searchParams.set('options', '-c DateStyle=SQL -c work_mem=8MB');
    const session = new DatabaseSession({ connectionString: url.href });
    await session.connect();
    try {
      const { rows } = await session.query(
        `select current_setting('DateStyle') as style, current_setting('work_mem') as memory`,
      );
      expect(rows).toEqual([{ style: 'ISO, MDY', memory: '8MB' }]);
    } finally {
      await session.end();
    }
  });

  // A pooler in session mode that drops `options` gives such a session: nothing
  // of what it asked for at its start holds.
  it('a session whose startup parameters were dropped has ours', async () => {
    class Dropped extends DatabaseSession {
      getStartupConf() {
        return { user: this.user, database: this.database };
      }
    }
    await using plain = await emptyDatabase();
    const session = new Dropped({ connectionString: plain.url, settings: { random_page_cost: '1' } });
    await session.connect();
    try {
      const ours = Object.entries(await settingsOf(session)).filter(apartFromDeadlines);
      for (const [name, value] of ours) expect.soft(value, name).not.toBe(turnedForms[name]);
      expect((await session.query('show random_page_cost')).rows).toEqual([{ random_page_cost: '1' }]);
    } finally {
      await session.end();
    }
  });

  it('the store writes, and reads moments and texts back as they were', async () => {
    const store = storeParts(inBackground, { url: database.url, poolSize: 2 });
    try {
      const acquired = await store.lanes.acquire(0, 'first', 6_000);
      if (acquired.kind !== 'held') throw new Error('the lane of a new database is held by somebody');
      const raw = `{"symbol":"\\u00c9\\\\'§ 東京"}`;
      const beganMs = Date.now();
      const rows = [quarantined({ accountId: 'A', orderId: 'NULL', raw, observedAtMs: 1_764_100_000_123 })];
      const outcome = await store.orders.applyBatch(
        batch(
          acquired.epoch,
          1,
          [
            ['NULL', 1],
            ["é\\'", 1],
          ],
          { quarantine: rows },
        ),
      );
      expect(outcome.kind).toBe('committed');
      const [listed] = await listQuarantined(store.pool, 0n, 10);
      expect(listed).toMatchObject({ orderId: 'NULL' });
      const { rows: read } = await store.pool.query('select observed_at, recorded_at, raw, dealt_at from quarantine');
      expect(read).toMatchObject([{ observed_at: new Date(1_764_100_000_123), raw, dealt_at: null }]);
      expect(Math.abs(read[0].recorded_at - beganMs)).toBeLessThan(60_000);
    } finally {
      await store.close();
    }
  });
});
