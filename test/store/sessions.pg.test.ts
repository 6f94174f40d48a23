import { randomBytes } from 'node:crypto';
import type { ClientBase } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest';
import { checkDatabase } from '../../src/cli/doctor/check-database.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { SchemaGate } from '../../src/service/run/schema-gate.ts';
import { storeParts } from '../../src/service/run/store-parts.ts';
import { migrate } from '../../src/store/migrate.ts';
import { DatabaseSession } from '../../src/store/session/database-session.ts';
import { createPool, createReadPool } from '../../src/store/session/pool.ts';
import { PrimarySession } from '../../src/store/session/primary-session.ts';
import { findPoolFault, pooledRefusalFix } from '../../src/store/session/session-fault.ts';
import { listDeadLetters } from '../support/orders/dead-letter-rows.ts';
import { batch, deadLetter, proxiedUrl, storeRig } from '../support/orders/store-rig.ts';
import { silentLog } from '../support/runs/silent-log.ts';
import { testLog } from '../support/runs/test-log.ts';
import { emptyDatabase, freshDatabase, type TestDatabase } from '../support/servers/database.ts';
import { onServer, withDatabase } from '../support/servers/on-server.ts';
import { TransactionPooler } from '../support/servers/transaction-pooler.ts';
import { turnedForms, turnedRules, turnSettings } from '../support/servers/turned-settings.ts';

describe('issue: In a database with another encoding, orders with some letters went into dead letters.', () => {
  async function findings(url: string) {
    const loaded = loadConfig({ DATABASE_URL: url }, () => '');
    if (!loaded.ok) throw new Error('the settings of the test are wrong');
    return checkDatabase(loaded.config, { log: silentLog, clock: systemClock });
  }

  /** What the start of the service says. */
  async function startOn(url: string): Promise<unknown> {
    const pool = createPool({ log: silentLog }, { url, applicationName: 'test', maxConnections: 2 });
    try {
      return await new SchemaGate({ pool, log: silentLog }).start().catch((error: unknown) => error);
    } finally {
      await pool.end();
    }
  }

  /** A database made with these words, dropped with the test. */
  async function databaseWith(words: string) {
    const name = `t_${randomBytes(8).toString('hex')}`;
    const server = inject('postgresUrl');
    await onServer(server, (client) => client.query(`create database ${name} template template0 ${words}`));
    return {
      name,
      url: withDatabase(server, name),
      async [Symbol.asyncDispose]() {
        await onServer(server, (client) => client.query(`drop database ${name} with (force)`));
      },
    };
  }

  describe.each(['LATIN1', 'SQL_ASCII', 'EUC_JP'])('a database with the encoding %s', (encoding) => {
    it('is refused before anything is made in it, at the start and by doctor, with what to do', async () => {
      await using database = await databaseWith(`encoding '${encoding}' locale 'C'`);
      const { url } = database;
      const message = expect.stringContaining(`the encoding of the database is ${encoding}, and UTF8 is expected`);
      const fix = expect.stringContaining("template template0 encoding 'UTF8' locale 'C'");
      await expect(migrate({ url, log: silentLog, clock: systemClock })).rejects.toMatchObject({
        ...{ code: 'SESSIONS', message, fix },
      });
      const { rows } = await onServer(url, (client) =>
        client.query("select from pg_class where relnamespace = 'public'::regnamespace"),
      );
      expect(rows).toEqual([]);
      expect(await startOn(url)).toMatchObject({ code: 'SESSIONS', exitCode: 78, message, fix });
      expect(await findings(url)).toContainEqual({ part: 'sessions', verdict: 'fail', detail: message, fix });
    });
  });

  it('a login for which no trigger fires is refused: nothing would guard the journal', async () => {
    await using database = await freshDatabase();
    await onServer(database.url, (client) =>
      client.query(`alter database ${database.name} set session_replication_role to replica`),
    );
    const message = expect.stringContaining(
      'session_replication_role is replica for this login, and origin is expected',
    );
    expect(await startOn(database.url)).toMatchObject({ code: 'SESSIONS', exitCode: 78, message });
    expect(await findings(database.url)).toContainEqual(
      expect.objectContaining({ part: 'sessions', verdict: 'fail', detail: message }),
    );
  });

  it('doctor names indexes that were made in another sort order', async () => {
    await using database = await databaseWith(`encoding 'UTF8' locale_provider icu icu_locale 'de-DE' locale 'C'`);
    await migrate({ url: database.url, log: silentLog, clock: systemClock });
    const collation = async () => (await findings(database.url)).filter(({ part }) => part === 'collation');
    expect(await collation()).toEqual([]);
    // As in a base backup that an older system wrote.
    await onServer(database.url, (client) =>
      client.query('update pg_database set datcollversion = $2 where datname = $1', [database.name, '1.2.3']),
    );
    expect(await collation()).toEqual([
      {
        ...{ part: 'collation', verdict: 'fail' },
        detail: expect.stringMatching(/with version 1\.2\.3 of the system's sort order, and this server has [\d.]+:/),
        fix: expect.stringContaining(`reindex database ${database.name}`),
      },
    ]);
    await onServer(database.url, (client) => client.query(`alter database ${database.name} refresh collation version`));
    expect(await collation()).toEqual([]);
  });

  it('doctor warns where nothing removes dead rows', async () => {
    await using database = await freshDatabase();
    const upkeep = async () => (await findings(database.url)).filter(({ part }) => part === 'upkeep');
    expect(await upkeep()).toEqual([]);
    await onServer(database.url, (client) => client.query(`alter database ${database.name} set track_counts to off`));
    expect(await upkeep()).toEqual([
      expect.objectContaining({
        verdict: 'warn',
        detail: expect.stringMatching(/^track_counts = off: nothing removes/),
      }),
    ]);
  });
});

describe('issue: Doctor was content with a login that may open five sessions, of which a process opens 35.', () => {
  /** A login of the service, and its address. */
  async function loginOf({ url, name }: TestDatabase, limit: number): Promise<string> {
    const login = `service_${randomBytes(4).toString('hex')}`;
    await onServer(url, (client) =>
      client.query(`create role ${login} login password 'pw' connection limit ${limit} in role tidemark_app`),
    );
    onTestFinished(() =>
      onServer(url.replace(`/${name}`, '/postgres'), async (client) => void (await client.query(`drop role ${login}`))),
    );
    const address = new URL(url);
    address.username = login;
    address.password = 'pw';
    return address.href;
  }

  async function connections(url: string, poolSize = 10) {
    const loaded = loadConfig({ DATABASE_URL: url, TIDEMARK_DATABASE_POOL_SIZE: String(poolSize) }, () => '');
    if (!loaded.ok) throw new Error('the settings of the test are wrong');
    return (await checkDatabase(loaded.config, { log: silentLog, clock: systemClock })).filter(
      ({ part }) => part === 'connections',
    );
  }

  it('doctor names the limit that leaves too few sessions, and what a process opens', async () => {
    await using database = await freshDatabase();
    const url = await loginOf(database, 20);
    expect(await connections(url)).toEqual([
      {
        ...{ part: 'connections', verdict: 'warn' },
        detail: expect.stringMatching(
          /^the CONNECTION LIMIT of service_\w+ leaves 20 sessions for a process that may open 35: under load it would wait/,
        ),
        fix: expect.stringContaining('TIDEMARK_DATABASE_POOL_SIZE'),
      },
    ]);
    expect(await connections(url, 2)).toEqual([]);

    // What a process of ours has open is what it needs, and what others have is not there for it.
    const open = async (applicationName: string) => {
      const pool = createPool({ log: silentLog }, { url, applicationName, maxConnections: 3, server: 'any' });
      await Promise.all([1, 2, 3].map(() => pool.query('select pg_sleep(0.1)')));
      return pool;
    };
    const ours = await open('tidemark-reads');
    expect(await connections(url, 2)).toEqual([]);
    const others = await open('reports');
    expect(await connections(url, 2)).toEqual([
      expect.objectContaining({ detail: expect.stringContaining('leaves 17 sessions for a process that may open 19') }),
    ]);
    await ours.end();
    await others.end();
  });

  it('doctor names the limit of the database too', async () => {
    await using database = await freshDatabase();
    const url = await loginOf(database, -1);
    await onServer(database.url, (client) => client.query(`alter database ${database.name} connection limit 12`));
    expect(await connections(url, 2)).toEqual([
      expect.objectContaining({
        detail: expect.stringMatching(/^the CONNECTION LIMIT of database t_\w+ leaves 12 sess/),
      }),
    ]);
  });
});

describe('issue: The service started behind a pooler in transaction mode, where its locks do not hold.', () => {
  const poolOf = (url: string) => createPool({ log: silentLog }, { url, applicationName: 'test', maxConnections: 2 });

  async function findingsAt(url: string) {
    const loaded = loadConfig({ DATABASE_URL: url }, () => '');
    if (!loaded.ok) throw new Error('the settings of the test are wrong');
    return checkDatabase(loaded.config, { log: silentLog, clock: systemClock });
  }

  let database: TestDatabase;

  beforeEach(async () => {
    database = await freshDatabase();
  });

  afterEach(() => database.drop());

  describe('behind a pooler in transaction mode', () => {
    let pooler: TransactionPooler;
    let url: string;

    beforeEach(async () => {
      pooler = await TransactionPooler.start(database.url);
      const address = new URL(database.url);
      address.host = `127.0.0.1:${pooler.port}`;
      url = address.href;
    });

    afterEach(() => pooler[Symbol.asyncDispose]());

    it('the start is refused with 78, and says what is seen and what to do', async () => {
      const pool = poolOf(url);
      try {
        await expect(new SchemaGate({ pool, log: silentLog }).start()).rejects.toMatchObject({
          ...{ code: 'SESSIONS', exitCode: 78 },
          message: expect.stringContaining('a pooler in transaction or statement mode is in between'),
          fix: expect.stringContaining('pool_mode = session'),
        });
      } finally {
        await pool.end();
      }
    });

    it('doctor fails', async () => {
      expect(await findingsAt(url)).toContainEqual({
        ...{ part: 'sessions', verdict: 'fail' },
        detail: expect.stringContaining('a pooler in transaction or statement mode is in between'),
        fix: expect.stringContaining('pool_mode = session'),
      });
    });

    it('migrate is refused before it changes anything', async () => {
      const migrating = migrate({ url, log: silentLog, clock: systemClock });
      await expect(migrating).rejects.toMatchObject({
        code: 'SESSIONS',
        fix: expect.stringContaining('pool_mode = session'),
      });
    });
  });

  it('a service that began while the database was away does not get ready behind such a pooler either', async () => {
    await using pooler = await TransactionPooler.start(database.url);
    const address = new URL(database.url);
    address.host = `127.0.0.1:${pooler.port}`;
    const pool = poolOf(address.href);
    try {
      const gate = new SchemaGate({ pool, log: silentLog });
      await expect(gate.assertFits()).rejects.toMatchObject({ code: 'SESSIONS' });
      await expect(gate.check()).rejects.toMatchObject({ code: 'SESSIONS' });
    } finally {
      await pool.end();
    }
  });

  it('with Postgres itself sessions are whole: no finding, and no lock stays', async () => {
    const pool = poolOf(database.url);
    try {
      expect(await findPoolFault(pool)).toBeUndefined();
      const locks = `select from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = $1)`;
      expect((await onServer(database.url, (client) => client.query(locks, [database.name]))).rowCount).toBe(0);
    } finally {
      await pool.end();
    }
    expect((await findingsAt(database.url)).filter(({ part }) => part === 'sessions')).toEqual([]);
  });

  // As on CockroachDB: each function is there, and says that it holds.
  it.each([
    ['of the session', 'pg_advisory_lock'],
    ['of the transaction', 'pg_advisory_xact_lock'],
  ])('a server whose locks %s exclude nobody is refused', async (_, name) => {
    const pool = poolOf(database.url);
    pool.on('connect', (session) => {
      const ask = session.query.bind(session) as (text: string, ...rest: unknown[]) => Promise<unknown>;
      Object.assign(session, {
        query: (text: string, ...rest: unknown[]) =>
          ask(text === 'commit' ? text : text.replace(`select ${name}(`, 'select num_nulls('), ...rest),
      });
    });
    try {
      expect(await findPoolFault(pool)).toMatchObject({ seen: expect.stringContaining('was given to a second one') });
    } finally {
      await pool.end();
    }
  });

  it('a pooler that refuses the startup parameters is named, with what to set', () => {
    const refusal = Object.assign(new Error('unsupported startup parameter: options'), {
      code: '08P01',
      severity: 'FATAL',
    });
    expect(pooledRefusalFix(refusal)).toMatch(/ignore_startup_parameters/);
    expect(
      pooledRefusalFix(Object.assign(new Error('invalid message'), { code: '08P01', severity: 'FATAL' })),
    ).toBeUndefined();
  });
});

describe('issue: The whole process ended when one database connection broke just after it was opened.', () => {
  it.each(['toTarget', 'toClient'] as const)(
    'a session that breaks under its first question (%s) ends no process',
    async (way) => {
      await using rig = await storeRig();
      const { proxy, database } = rig;
      const pool = createPool(
        { log: testLog },
        { url: proxiedUrl(database.url, proxy), applicationName: 'checked', maxConnections: 1 },
      );
      const uncaught: Error[] = [];
      const keep = (error: Error) => uncaught.push(error);
      process.on('uncaughtException', keep);
      try {
        proxy.tap = (chunk) => {
          if (chunk.includes('pg_is_in_recovery')) proxy.behave({ kind: 'after', bytes: 0, ending: 'reset' }, way);
        };
        await expect(pool.query('select 1')).rejects.toThrow();
        proxy.tap = () => undefined;
        proxy.behave({ kind: 'pass' });
        expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
        expect(uncaught).toEqual([]);
      } finally {
        process.off('uncaughtException', keep);
        await pool.end();
      }
    },
  );
});

describe('issue: On a database with settings of its own, the service read and wrote other times and texts.', () => {
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
        const rows = [deadLetter({ accountId: 'A', orderId: 'NULL', raw, observedAtMs: 1_764_100_000_123 })];
        const result = await store.orders.applyBatch(
          batch(
            acquired.epoch,
            1,
            [
              ['NULL', 1],
              ["é\\'", 1],
            ],
            { deadLetters: rows },
          ),
        );
        expect(result.kind).toBe('committed');
        const [listed] = await listDeadLetters(store.pool, 0n, 10);
        expect(listed).toMatchObject({ orderId: 'NULL' });
        const { rows: read } = await store.pool.query(
          'select observed_at, recorded_at, raw, dealt_at from dead_letters',
        );
        expect(read).toMatchObject([{ observed_at: new Date(1_764_100_000_123), raw, dealt_at: null }]);
        expect(Math.abs(read[0].recorded_at - beganMs)).toBeLessThan(60_000);
      } finally {
        await store.close();
      }
    });
  });
});
