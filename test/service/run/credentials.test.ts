import { describe, expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { ByteBudget } from '../../../src/runtime/byte-budget.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { loginPrefix, MemoryTokenStore, type StoredCredential } from '../../../src/runtime/token-store.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { Credentials, type LoginKind } from '../../../src/service/run/credentials.ts';
import { Connectors } from '../../../src/service/sources/connectors.ts';
import type { Http } from '../../../src/venue/http.ts';
import { storedKeySource, tokenOfKey } from '../../../src/venue/key-source.ts';
import { accountRow } from '../../../src/venue/platform/fixtures/rows.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import { RefreshingTokenSource } from '../../../src/venue/platform/token-source.ts';
import { RequestBudget } from '../../../src/venue/request-budget.ts';
import { ScriptedSink } from '../../support/orders/scripted-sink.ts';
import { ScriptedPlatform } from '../../support/platform/scripted-platform.ts';
import { ScriptedRegistry } from '../../support/platform/scripted-registry.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const login = 'login:alice';
/** Gives each login a token that is its name. */
const issuing = (name: string): Http => ({
  request: async () => ({
    kind: 'answered',
    status: 200,
    headers: {},
    text: JSON.stringify({ access_token: name, token_type: 'Bearer', expires_in: 3600 }),
  }),
  close: async () => undefined,
});

/**
 * The credentials of a service, each with real connectors to a
 * platform of its own, on a virtual clock.
 */
async function credentials(seen: Readonly<Record<string, readonly string[]>>) {
  const clock = new VirtualClock();
  const random = seededRandom(3);
  const metrics = createMetrics();
  const sink = new ScriptedSink();
  const stored: StoredCredential[] = [{ credential: login, generation: 1 }];
  const platforms = new Map<string, ScriptedPlatform>();
  const tokens = new Map<string, RefreshingTokenSource>();
  const sources = new Connectors(
    {
      ...{ clock, random, log: silentLog, registry: new ScriptedRegistry(), sink, metrics: metrics.source },
      openSocket: (url, token, handlers) => {
        const platform = platforms.get(token?.reveal() ?? '');
        if (platform === undefined) throw new Error('no login has this token');
        return platform.openSocket(url, token, handlers);
      },
      budget: new ByteBudget({ maxBytes: 64_000_000 }),
    },
    { streamUrls: { account: 'ws://account', prediction: 'ws://prediction' }, knowsAll: () => logins.knowsAll },
  );
  const platformLogins: LoginKind = {
    ...{ own: 'client', prefix: loginPrefix, connectors: sources },
    signIn: async (name) => {
      const platform = new ScriptedPlatform(clock);
      platform.accounts = (seen[name] ?? []).map((accountId) => ({
        accountId,
        isOpen: true,
        isSim: accountId !== 'real',
      }));
      platforms.set(name, platform);
      const credential = { clientId: 'id', clientSecret: new Secret('hush') };
      const source = new RefreshingTokenSource(
        {
          http: issuing(name),
          clock,
          random,
          store: new MemoryTokenStore({ clock }),
          log: silentLog,
          metrics: metrics.platform,
        },
        { name, holder: 'one', baseUrl: 'http://platform', credential, grant: 'client_credentials' },
      );
      tokens.set(name, source);
      return { venue: platformVenue, tokens: source, reads: platform };
    },
  };
  const logins: Credentials = new Credentials(
    {
      ...{ clock, log: silentLog, metrics: metrics.platform, kinds: [platformLogins], sources },
      list: { stored: async () => stored },
    },
    { lookEveryMs: 2_000 },
  );
  await logins.start();
  await sources.begin();
  await clock.advance(5_000);
  onTestFinished(async () => {
    const drained = logins.drain();
    await clock.advance(5_000);
    await drained;
  });
  return { clock, sources, stored, platforms, tokens, sink };
}

describe('the credentials of a service', () => {
  it('give for each account the tokens of the one that follows it', async () => {
    const { sources, tokens } = await credentials({ client: ['mine'], [login]: ['hers'] });
    expect(sources.tokensFor('mine')).toBe(tokens.get('client'));
    expect(sources.tokensFor('hers')).toBe(tokens.get(login));
    expect(sources.tokensFor('nobodys')).toBeUndefined();
    expect(sources.account('account', 'hers')).toBeDefined();
    expect(sources.account('prediction', 'nobodys')).toBeUndefined();
  });

  it('give the tokens of the credential that claimed the account, where several see it', async () => {
    const { sources, tokens, platforms } = await credentials({ client: ['both'], [login]: ['both'] });
    const following = [...platforms].filter(([, platform]) =>
      platform.live.some(({ subscribed }) => subscribed.size > 0),
    );
    expect(following).toHaveLength(1);
    expect(sources.tokensFor('both')).toBe(tokens.get(following[0]?.[0] ?? ''));
  });

  it('are audited one account at a time, of all logins together', async () => {
    const { clock, platforms } = await credentials({ client: ['mine'], [login]: ['hers'] });
    let [atOnce, most, audits] = [0, 0, 0];
    for (const platform of platforms.values())
      platform.beforeList = async () => {
        atOnce += 1;
        audits += 1;
        most = Math.max(most, atOnce);
        await clock.sleep(5_000);
        atOnce -= 1;
      };
    // Each has two streams: they keep one turn busy for 20 s of each minute.
    await clock.advance(10 * 60_000);
    expect(audits).toBeGreaterThanOrEqual(20);
    expect(most).toBe(1);
  });

  it('go over to the only one left when the other is removed', async () => {
    const { sources, tokens, stored, platforms, clock } = await credentials({ client: [], [login]: ['hers'] });
    stored.length = 0;
    const client = platforms.get('client');
    if (client !== undefined) client.accounts = [{ accountId: 'hers', isOpen: true, isSim: true }];
    await clock.advance(8_000);
    expect(sources.tokensFor('hers')).toBe(tokens.get('client'));
    expect(sources.standing('account', 'hers'), 'no list of it has been read since').toBeUndefined();
    await clock.advance(120_000);
    expect(sources.standing('account', 'hers')).toEqual({ isOpen: true });
  });

  it('give none while the lane is not held', async () => {
    const { sources, clock } = await credentials({ client: ['mine'] });
    const ended = sources.end();
    await clock.advance(3_000);
    await ended;
    expect(sources.tokensFor('mine')).toBeUndefined();
  });
});

describe('the accounts, as the command side reaches them', () => {
  it('tell how an account stands, and know none that is not followed', async () => {
    const { sources } = await credentials({ client: ['mine', 'real'] });
    expect(sources.account('account', 'mine')).toMatchObject({ live: true, isSim: true, certain: true });
    expect(sources.account('prediction', 'real')).toMatchObject({ live: true, isSim: false, certain: true });
    expect(sources.account('account', 'other')).toBeUndefined();
    expect(sources.hasListed).toBe(true);
  });

  it('are looked at through ingest', async () => {
    const { sources, clock, platforms, sink } = await credentials({ client: ['mine'] });
    const row = { ...accountRow, accountId: 'mine', clOrdId: 'tm-1' };
    platforms.get('client')?.rows.set('account:mine', [row]);
    const { signal } = new AbortController();
    const account = sources.account('account', 'mine');
    const all = Promise.all([
      account?.lookFor('tm-1', signal),
      account?.lookAt('ord-1', signal),
      account?.lookAtAll(undefined, signal),
      account?.lookAt('ord-none', signal),
    ]);
    await clock.advance(1_000);
    const complete = (shown: string[]) => ({ complete: true, startedAtMs: expect.any(Number), certain: true, shown });
    const works = { ...complete(['ord-1']), working: ['ord-1'] };
    const list = { ...works, uncertain: [] };
    expect(await all).toEqual([complete(['ord-1']), works, list, complete([])]);
    expect(sink.observations.map(({ cause }) => cause)).toEqual(['probe', 'probe', 'probe']);
  });

  it('carry the platform’s own error when a look fails', async () => {
    const { sources, clock, platforms } = await credentials({ client: ['mine'] });
    const platform = platforms.get('client');
    const error = { status: 503, code: 'DOWN', message: 'restoring', retryable: true, sent: 'yes' } as const;
    if (platform !== undefined) platform.listError = () => error;
    const look = sources.account('account', 'mine')?.lookFor('tm-1', new AbortController().signal);
    await clock.advance(1_000);
    expect(await look).toEqual({ complete: false, error });
  });
});

describe('a key that is linked', () => {
  const name = 'alpaca_paper:A-1';
  /** Each login that is at work, with the key that it signs by. */
  const linkedKeys = async () => {
    const clock = new VirtualClock();
    const keys = new Map<string, { generation: number; key?: string }>();
    const working = new Map<string, string>();
    let away = false;
    const stored = async () => {
      if (away) throw new Error('the database is away');
      return [...keys].map(([credential, { generation }]) => ({ credential, generation }));
    };
    const load = async (credential: string) => {
      const { generation = 0, key } = keys.get(credential) ?? {};
      if (key === undefined) return { generation, unreadable: 'sealed with another key' };
      return { generation, ...tokenOfKey(new Secret(key)) };
    };
    const kind: LoginKind = {
      prefix: 'alpaca_paper:',
      connectors: {
        add: async (credential, { tokens }) => {
          const token = await tokens.get('http://venue');
          working.set(credential, token.ok ? token.token.secret.reveal() : token.error.message);
        },
        remove: async (credential) => void working.delete(credential),
      },
      signIn: async (credential) => ({
        tokens: await storedKeySource(clock, () => load(credential), 'refused', new RequestBudget(clock)),
        ...{ venue: platformVenue, reads: new ScriptedPlatform(clock) },
      }),
    };
    const metrics = createMetrics().platform;
    const deps = { clock, log: silentLog, metrics, kinds: [kind], sources: { end: async () => undefined } };
    const logins = new Credentials({ ...deps, list: { stored } }, { lookEveryMs: 2_000 });
    await logins.start();
    onTestFinished(async () => {
      const drained = logins.drain();
      await clock.advance(5_000);
      await drained;
    });
    const look = async () => {
      await clock.advance(2_100);
      return Object.fromEntries(working);
    };
    const lose = (isAway: boolean) => {
      away = isAway;
    };
    return { logins, keys, look, lose };
  };

  it('is followed at the next look, gives way to another one for its account, and is left once removed', async () => {
    const { logins, keys, look } = await linkedKeys();
    expect(await look()).toEqual({});
    keys.set(name, { generation: 1, key: 'one' });
    expect(await look()).toEqual({ [name]: 'one' });
    expect(logins.status()).toEqual([{ credential: name, state: 'held' }]);
    keys.set(name, { generation: 2, key: 'two' });
    expect(await look()).toEqual({ [name]: 'two' });
    // Removed and linked again between two looks.
    keys.set(name, { generation: 1, key: 'three' });
    expect(await look()).toEqual({ [name]: 'three' });
    keys.set(name, { generation: 1, key: 'four' });
    expect(await look()).toEqual({ [name]: 'four' });
    keys.delete(name);
    expect(await look()).toEqual({});
    expect(logins.status()).toEqual([]);
  });

  it('stays while the store is away, and waits for a person where another encryption key sealed it', async () => {
    const { logins, keys, look, lose } = await linkedKeys();
    keys.set(name, { generation: 1, key: 'one' });
    await look();
    lose(true);
    keys.set(name, { generation: 2, key: 'two' });
    expect(await look()).toEqual({ [name]: 'one' });
    lose(false);
    expect(await look()).toEqual({ [name]: 'two' });
    keys.set(name, { generation: 3 });
    await look();
    expect(logins.status()).toEqual([
      { credential: name, state: 'login_required', lastError: 'sealed with another key: link it again' },
    ]);
  });
});
