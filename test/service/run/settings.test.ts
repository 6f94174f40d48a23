import { describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/config/load-config.ts';
import type { Option } from '../../../src/config/option.ts';
import { optionTable } from '../../../src/config/option-table.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { sumOfSeries } from '../../../src/observability/read-metric.ts';
import type { StoredCredential } from '../../../src/runtime/token-store.ts';
import { toPublishError } from '../../../src/service/log/publish-sends.ts';
import { ClockWatch } from '../../../src/service/run/clock-watch.ts';
import { Credentials } from '../../../src/service/run/credentials.ts';
import type { HttpResult } from '../../../src/venue/http.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

describe('issue: Kafka refused every record because a clock was two hours ahead, and no message said so.', () => {
  const hourMs = 3_600_000;

  async function rig() {
    const clock = new VirtualClock();
    const theirs = { database: 0, platform: 0, age: undefined as string | undefined, away: false };
    const metrics = createMetrics();
    const watch = new ClockWatch({
      clock,
      log: silentLog,
      metrics: metrics.process,
      databaseMs: async () => {
        await clock.sleep(20);
        if (theirs.away) throw new Error('the database is away');
        return clock.nowMs() + theirs.database;
      },
    });
    const http = watch.watching({
      request: async (): Promise<HttpResult> => {
        await clock.sleep(30);
        const date = new Date(clock.nowMs() + theirs.platform).toUTCString();
        const headers = { date, ...(theirs.age !== undefined && { age: theirs.age }) };
        return { kind: 'answered', status: 200, headers, text: '' };
      },
      close: async () => undefined,
    });
    const ask = async () => {
      const asked = http.request({ operation: 'x', method: 'GET', url: 'http://platform', headers: {} });
      await clock.advance(100);
      await asked;
    };
    await watch.rounds.start();
    await clock.advance(1_000);
    const end = async () => {
      const drained = watch.rounds.drain();
      await clock.advance(1);
      await drained;
    };
    return { clock, theirs, watch, metrics, ask, end };
  }

  it('the doubt says by how much, against which clock, and never which is wrong', async () => {
    const { clock, theirs, watch, metrics, ask, end } = await rig();
    await ask();
    expect(watch.doubt()).toBeUndefined();
    clock.stepWall(2 * hourMs);
    theirs.database = theirs.platform = -2 * hourMs;
    await clock.advance(61_000);
    const seen = 'the clock of this process is 7200.0 s ahead of Postgres, and';
    expect(watch.doubt()?.detail).toBe(`${seen} agrees with that of the platform`);
    await ask();
    expect(watch.doubt()?.detail).toMatch(/ahead of Postgres, and is 7\d\d\d\.\d s ahead of the platform$/);
    expect((await metrics.process.clockAhead.get()).values.map(({ value }) => Math.round(value / 60))).toEqual([
      120, 120,
    ]);
    clock.stepWall(-2 * hourMs);
    theirs.database = theirs.platform = 0;
    await clock.advance(61_000);
    await ask();
    expect(watch.doubt()).toBeUndefined();
    await end();
  });

  it.each([
    ['postgres', -45_000, /45\.0 s ahead of Postgres, and could not be compared/],
    ['postgres', 45_000, /45\.0 s behind Postgres, and could not be compared/],
    ['platform', 100_000, /agrees with that of Postgres, and is \d+\.\d s behind the platform/],
  ])('a difference of %s by %i ms is named', async (of, byMs, detail) => {
    const { clock, theirs, watch, ask, end } = await rig();
    if (of === 'postgres') theirs.database = byMs;
    else {
      theirs.platform = byMs;
      await ask();
    }
    await clock.advance(61_000);
    expect(watch.doubt()?.detail).toMatch(detail);
    await end();
  });

  it('what can not be compared, is a copy from a cache, or lies within the bounds, is no doubt', async () => {
    const { clock, theirs, watch, ask, end } = await rig();
    theirs.database = 29_000;
    theirs.platform = 29_000;
    await ask();
    await clock.advance(61_000);
    expect(watch.doubt()).toBeUndefined();
    theirs.platform = hourMs;
    theirs.age = '3600';
    theirs.away = true;
    theirs.database = hourMs;
    await ask();
    await clock.advance(61_000);
    expect(watch.doubt()).toBeUndefined();
    await end();
  });

  it('a doubt ends where the clock can no longer be compared, and does not stay for ever', async () => {
    const { clock, theirs, watch, metrics, end } = await rig();
    theirs.database = hourMs;
    await clock.advance(61_000);
    expect(watch.doubt()).toBeDefined();
    theirs.away = true;
    await clock.advance(400_000);
    expect(watch.doubt()).toBeUndefined();
    expect((await metrics.process.clockAhead.get()).values).toEqual([]);
    await end();
  });

  it('an error of Kafka about a timestamp names the clocks', () => {
    const refusal = Object.assign(new Error('The timestamp of the message is out of acceptable range'), {
      type: 'INVALID_TIMESTAMP',
    });
    const { code, message } = toPublishError(refusal);
    expect(code).toBe('clock');
    expect(message).toMatch(/the clock of this process and that of the broker differ/);
  });
});

describe('issue: The accounts of a linked login were not followed, and neither status nor alerts said so.', () => {
  // The key was missing at the next start: no process followed the login's accounts, and status,
  // doctor, log and alerts said nothing.
  it('a login that is stored and whose key is missing waits for a person, in status and metrics', async () => {
    const clock = new VirtualClock();
    const metrics = createMetrics();
    let stored: StoredCredential[] = [{ credential: 'login:alice', generation: 1 }];
    const absent = () => Promise.reject(new Error('nothing can be made of a login without its key'));
    const credentials = new Credentials(
      {
        ...{ clock, log: silentLog, metrics: metrics.platform },
        list: { stored: async () => stored },
        kinds: [{ prefix: 'login:', connectors: { add: absent, remove: absent }, signIn: absent }],
        sources: { end: async () => undefined },
      },
      { lookEveryMs: 2_000, unusable: 'TIDEMARK_ENCRYPTION_KEY is not set' },
    );
    await credentials.start();
    onTestFinished(async () => {
      const drained = credentials.drain();
      await clock.advance(5_000);
      await drained;
    });
    await clock.advance(100);
    expect(credentials.status()).toEqual([
      { credential: 'login:alice', state: 'login_required', lastError: 'TIDEMARK_ENCRYPTION_KEY is not set' },
    ]);
    expect(await sumOfSeries(metrics.platform.credentials, { state: 'login_required' })).toBe(1);
    expect(credentials.knowsAll, 'an account that is not followed may be one of its accounts').toBe(false);
    stored = [];
    await clock.advance(2_100);
    expect(credentials.status()).toEqual([]);
  });
});

describe('issue: The platform refused our client id, since a file for Docker had quotation marks around it.', () => {
  const noFile = (): string => {
    throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
  };
  const problem = 'has quotation marks around its value: leave them out, they are a part of it here';

  it.each([
    ['PLATFORM_CLIENT_ID', '"client"'],
    ['PLATFORM_CLIENT_SECRET', "'hush'"],
    ['PLATFORM_ACCOUNTS', '"A-1,A-2"'],
    ['PLATFORM_URL', ' "https://platform.example" '],
    ['DATABASE_URL', '"postgres://u:p@h/db"'],
    ['TIDEMARK_HTTP_PORT', '"8080"'],
    ['KAFKA_BROKERS', '""'],
  ])('%s=%s names the marks', (name, value) => {
    const result = loadConfig({ [name]: value }, noFile);
    expect(result.ok ? [] : result.faults).toEqual([{ name, problem }]);
  });

  it('a mark within a value is part of it, and so are those of a secret in a file', () => {
    const one = loadConfig({ PLATFORM_CLIENT_ID: 'a"b"' }, noFile);
    expect(one.ok && one.config.platformClientId).toBe('a"b"');
    const two = loadConfig({ PLATFORM_CLIENT_SECRET_FILE: '/run/secret' }, () => '"hush"\n');
    expect(two.ok && two.config.platformClientSecret?.reveal()).toBe('"hush"');
  });
});

describe('issue: A number of 20 digits "must be a whole number", an https address "must begin with https".', () => {
  const noFile = (): string => {
    throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
  };

  function said(env: Record<string, string>, readFile: (path: string) => string = noFile): string[] {
    const loaded = loadConfig(env, readFile);
    return loaded.ok ? [] : loaded.faults.map(({ name, problem }) => `${name} ${problem}`);
  }

  describe('the sentence of a wrong value is true, and names what was seen', () => {
    it.each<[string, string, RegExp]>([
      [
        'TIDEMARK_STREAM_ACK_MS',
        '99999999999999999999',
        /^\S+ must be from 100 to 3600000 milliseconds; it has 20 digits$/,
      ],
      ['TIDEMARK_STREAM_ACK_MS', '007', /a whole number of milliseconds without a zero before it; "007" is not one$/],
      ['TIDEMARK_STREAM_ACK_MS', '10 s', /digits only; "10 s" is not one$/],
      ['TIDEMARK_STREAM_ACK_MS', '10 seconds', /digits only; "10 seconds" is not one$/],
      ['TIDEMARK_STREAM_ACK_MS', '1,000', /digits only; "1,000" is not one$/],
      ['TIDEMARK_STREAM_ACK_MS', '1e3', /digits only; "1e3" is not one$/],
      ['TIDEMARK_STREAM_ACK_MS', '-5', /digits only; "-5" is not one$/],
      ['TIDEMARK_STREAM_ACK_MS', '0', /must be from 100 to 3600000 milliseconds; it is 0$/],
      [
        'PLATFORM_URL',
        'https://platform.example:70000',
        /^PLATFORM_URL can't be read behind its scheme: a port is a number/,
      ],
      ['PLATFORM_URL', 'https://::1:8443', /an IPv6 address stands in brackets/],
      ['PLATFORM_URL', 'https://platform.example:0', /must not have the port 0/],
      ['PLATFORM_URL', 'platform.example', /begins with https:\/\/ or http:\/\/; it has no :\/\/$/],
      [
        'PLATFORM_STREAM_URL',
        'https://platform.example',
        /begins with wss:\/\/ or ws:\/\/; it begins with https:\/\/$/,
      ],
      ['DATABASE_URL', 'postgres://app:4c/n4ry@db/tidemark', /can't be read behind its scheme: .*%2F for \/\)$/],
      ['DATABASE_URL', 'postgres://app:c4n4ry@db:70000/tidemark', /a port is a number from 1 to 65535/],
      ['DATABASE_URL', 'postgres://app:c4n4ry%@db/tidemark', /bare % in its user or password: write %25/],
      ['DATABASE_URL', 'mysql://app:c4n4ry@db/tidemark', /begins with postgres:\/\/ or postgresql:\/\/$/],
      ['PLATFORM_ACCOUNTS', '["A-1","A-2"]', /is written as JSON: leave the brackets and quotation marks out$/],
      ['PLATFORM_ACCOUNTS', '[]', /is written as JSON/],
      ['KAFKA_BROKERS', '[ "b:9092" ]', /is written as JSON/],
      ['KAFKA_BROKERS', '::1:9092', /an IPv6 address in brackets/],
      ['PLATFORM_CLIENT_SECRET', 'c4n4ry\nand more', /must be one line$/],
    ])('%s=%s', (name, value, expected) => {
      const lines = said({ [name]: value });
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(expected);
      expect(lines[0]).not.toMatch(/c4n4ry/);
    });

    it('brackets of an address are no JSON', () => {
      expect(said({ KAFKA_BROKERS: '[::1]:9092,[::2]:9092', TIDEMARK_ADMIN_NAMES: '[::1]' })).toEqual([]);
    });
  });

  describe('a file with a secret', () => {
    const fromFile = (text: string) => said({ PLATFORM_CLIENT_SECRET_FILE: '/run/s' }, () => text);

    it.each(['\ufeffhush\r\n', 'hush\r\n', '  hush  '])('may have a mark or line ends around it: %j', (text) => {
      expect(fromFile(text)).toEqual([]);
    });

    it.each<[string, RegExp]>([
      [
        Buffer.from('\ufeffhush', 'utf16le').toString('utf8'),
        /^PLATFORM_CLIENT_SECRET_FILE names a file that is not text in UTF-8$/,
      ],
      ['', /names a file that is blank$/],
      ['\ufeff\r\n', /names a file that is blank$/],
      ['hush\nhash', /must be one line$/],
    ])('is refused where it holds something else: %j', (text, expected) => {
      expect(fromFile(text)).toEqual([expect.stringMatching(expected)]);
    });
  });

  /** What people write by mistake, and what may not be shown where it is a secret. */
  const wrongValues = [
    ...[
      '-1',
      '0',
      '1e3',
      '0x10',
      '٣',
      ' ',
      '10 s',
      '99999999999999999999',
      'NaN',
      'Infinity',
      'null',
      'undefined',
      '{}',
    ],
    ...[
      '[]',
      '["a"]',
      'true',
      'yes',
      'https://',
      'https://u:c4n4ry@h',
      'https://h:0',
      'https://h:70000',
      'https://h/?c4n4ry',
    ],
    ...['https://::1', 'h:1', '/etc', 'postgres://u:c4n4ry@h:x/d', 'postgres://', 'a,,b', 'a\u0000b', '\u202e', '😀'],
    'c4n4ry/5ecret+of=another-variable',
  ];

  it('each setting with each wrong value is taken, or refused in a sentence without the value of a secret', () => {
    const sentences: string[] = [];
    for (const { env, secret } of Object.values<Option<unknown>>(optionTable))
      for (const value of wrongValues)
        for (const [name, given] of [[env, value], ...(secret ? [[`${env}_FILE`, '/run/s']] : [])] as const) {
          const lines = said({ [name]: given }, () => value);
          for (const line of lines) {
            expect(line, `${name}=${value}`).toMatch(/^[A-Z_]+ (must|can't|is|has|needs|names|\()/);
            expect(line, `${name}=${value}`).not.toMatch(/c4n4ry|undefined |\[object|\n/);
          }
          sentences.push(...lines);
        }
    expect(new Set(sentences).size).toBeGreaterThan(100);
  });
});
