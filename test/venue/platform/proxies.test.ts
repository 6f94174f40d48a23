import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkProxies } from '../../../src/cli/doctor/check-proxies.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { ByteBudget } from '../../../src/runtime/byte-budget.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { fetchThrough } from '../../../src/runtime/connector-through.ts';
import { Proxies } from '../../../src/runtime/proxies.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { Connectors } from '../../../src/service/sources/connectors.ts';
import type { SocketEnd } from '../../../src/service/sources/socket.ts';
import { wsSocketDefaults, wsSocketFactory } from '../../../src/service/sources/ws-socket.ts';
import { platformReads } from '../../../src/venue/platform/platform-reads.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import { SocketWriteLines } from '../../../src/venue/platform/socket-write-lines.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { enrolled, limitOrder, orderClient } from '../../support/commands/order-entry.ts';
import { fixedToken, writes } from '../../support/commands/order-writes.ts';
import { platformEntry } from '../../support/commands/platform-entry.ts';
import { ReducingSink } from '../../support/orders/reducing-sink.ts';
import { platformDeps } from '../../support/platform/platform-deps.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { CertificateAuthority } from '../../support/servers/certificates.ts';
import { connectProxy, type ProxyManner } from '../../support/servers/connect-proxy.ts';

describe('issue: A service behind an HTTP proxy could not reach the platform at all.', () => {
  // No name here can be resolved: what arrives has come through the proxy.
  const host = 'platform.test';

  /** A platform that counts the requests that it gets. */
  async function countingPlatform(make: (answer: RequestListener) => Server, status = 200, text = '{}') {
    const seen: string[] = [];
    const server = make((request, response) => {
      request.resume();
      request.on('end', () => {
        seen.push(`${request.method} ${request.url} ${request.headers.host}`);
        response.writeHead(status, { 'content-type': 'application/json' }).end(text);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    server.unref();
    return { seen, port: (server.address() as AddressInfo).port };
  }

  function through(url: string): Proxies {
    return new Proxies({ httpsProxy: new Secret(url), httpProxy: new Secret(url) });
  }

  const placing = writes['placeOrder'];

  interface PlaceOptions {
    readonly connectMs?: number;
    readonly permitted?: () => void;
  }

  function place(proxies: Proxies, baseUrl: string, { connectMs = 20_000, permitted }: PlaceOptions = {}) {
    if (placing === undefined) throw new Error('there is no such write');
    const lines = new SocketWriteLines({ clock: systemClock, proxies }, { connectMs });
    const deps = { lines, clock: systemClock, tokens: fixedToken(), metrics: createMetrics().platform };
    return placing.run(deps, baseUrl, {
      mayWrite: async () => {
        permitted?.();
        return true;
      },
    });
  }

  const refusals: readonly (readonly [string, ProxyManner, RegExp])[] = [
    ['asks for credentials', { status: 407 }, /407/],
    ['does not allow it', { status: 403 }, /403/],
    ['does not reach it', { status: 502 }, /502/],
    ['redirects', { status: 302 }, /302/],
    ['answers something else than a status', 'garbage', /does not match the HTTP/],
    ['is silent', 'silent', /no connection within/],
    ['ends at once', 'dies_at_once', /closed|reset|hang up|ECONNRESET|EPIPE/i],
    ['ends in the middle of its answer', 'dies_answering', /closed|hang up/],
    ['sends bytes of its own', 'speaks', /bytes of its own/],
  ];

  describe('a proxy that refuses', () => {
    it.each(refusals)(
      'and %s: a write is not sent, nobody permitted it, and no byte of it left',
      async (_, manner, why) => {
        const platform = await countingPlatform(createServer);
        const proxy = await connectProxy({ manner, portOf: () => platform.port });
        let permissions = 0;
        for (const scheme of ['http', 'https']) {
          const permitted = () => {
            permissions += 1;
          };
          const connectMs = manner === 'silent' ? 300 : 20_000;
          const proxies = through(`http://someone:hush-hush@127.0.0.1:${proxy.port}`);
          const result = await place(proxies, `${scheme}://${host}`, { connectMs, permitted });
          expect(result).toMatchObject({ kind: 'not_sent' });
          expect(JSON.stringify(result)).toContain(proxy.url);
          expect(JSON.stringify(result)).toMatch(why);
          expect(JSON.stringify(result)).not.toContain('hush-hush');
        }
        expect({ permissions, stray: proxy.stray, seen: platform.seen }).toEqual({
          permissions: 0,
          stray: 0,
          seen: [],
        });
      },
    );

    it.each(refusals)('and %s: a read fails before it was sent, and so does a socket', async (_, manner, why) => {
      const proxy = await connectProxy({ manner, portOf: () => 1 });
      const proxies = through(proxy.url);
      const http = new UndiciHttp({ clock: systemClock, proxies }, { connectMs: manner === 'silent' ? 300 : 20_000 });
      onTestFinished(() => http.close());
      const read = await http.request({ operation: 'health', method: 'GET', url: `http://${host}/`, headers: {} });
      expect(read).toMatchObject({
        kind: 'failed',
        code: 'connect',
        sent: 'no',
        message: expect.stringContaining(proxy.url),
      });
      const ends: SocketEnd[] = [];
      const nothing = () => undefined;
      const open = wsSocketFactory(
        systemClock,
        { ...wsSocketDefaults, openMs: manner === 'silent' ? 300 : 20_000 },
        proxies,
      );
      open(`ws://${host}/v1/stream`, new Secret('a-token'), {
        ...{ onOpen: nothing, onFrame: nothing, onPong: nothing },
        onEnd: (end) => ends.push(end),
      });
      const message = expect.stringMatching(why);
      await eventually(() => expect(ends).toEqual([{ kind: 'failed', code: 'connect', message }]));
      expect(proxy.stray).toBe(0);
    });

    it('and ends behind its answer: a write over TLS is not sent', async () => {
      const proxy = await connectProxy({ manner: 'dies_after', portOf: () => 1 });
      expect(await place(through(proxy.url), `https://${host}`)).toMatchObject({ kind: 'not_sent' });
    });

    it('a proxy that does not listen is named', async () => {
      const result = await place(through('http://127.0.0.1:9'), `https://${host}`);
      expect(result).toMatchObject({ kind: 'not_sent' });
      expect(JSON.stringify(result)).toContain('through the proxy http://127.0.0.1:9: ');
    });
  });

  describe('a proxy that lets us through', () => {
    it.each(['pass', 'slow'] as const)(
      'and is %s: a write arrives once, by CONNECT for plain addresses too',
      async (manner) => {
        const platform = await countingPlatform(createServer, placing?.status, placing?.answer);
        const proxy = await connectProxy({ manner, portOf: () => platform.port });
        const result = await place(through(`http://some%40one:p%3Aw@127.0.0.1:${proxy.port}`), `http://${host}:8080`);
        expect(result).toMatchObject({ kind: 'accepted' });
        expect(platform.seen).toEqual([`POST /v1/orders ${host}:8080`]);
        expect(proxy.asked).toEqual([`CONNECT ${host}:8080`]);
        const credentials = Buffer.from('some@one:p:w').toString('base64');
        expect(proxy.heads[0]).toContain(`\r\nproxy-authorization: Basic ${credentials}\r\n`);
      },
    );

    it('carries TLS to the platform, whose name is the one that is verified, to a proxy with TLS or without', async () => {
      const authority = new CertificateAuthority(mkdtempSync(join(tmpdir(), 'tidemark-proxy-')));
      const { key, cert } = authority.sign('platform', host);
      const before = getCACertificates('default');
      setDefaultCACertificates([...before, readFileSync(authority.cert, 'utf8')]);
      onTestFinished(() => setDefaultCACertificates(before));
      const tls = { key: readFileSync(key), cert: readFileSync(cert) };
      const platform = await countingPlatform(
        (answer) => createTlsServer(tls, answer),
        placing?.status,
        placing?.answer,
      );
      for (const secured of [undefined, tls]) {
        const proxy = await connectProxy({ portOf: () => platform.port, ...(secured && { tls: secured }) });
        const proxies = through(proxy.url);
        expect(await place(proxies, `https://${host}`)).toMatchObject({ kind: 'accepted' });
        expect(await place(proxies, 'https://other.test')).toMatchObject({ kind: 'not_sent' });
        const answer = await fetchThrough({ fetch, clock: systemClock, proxies })(`https://${host}/keys`);
        expect(answer.status).toBe(placing?.status);
        expect(proxy.asked).toEqual([`CONNECT ${host}:443`, 'CONNECT other.test:443', `CONNECT ${host}:443`]);
      }
      expect(platform.seen.map((line) => line.split(' ')[0])).toEqual(['POST', 'GET', 'POST', 'GET']);
    });

    it('and whose tunnel ends behind the write: it may have arrived', async () => {
      const server = createServer((request) => void request.on('data', () => request.socket.destroy()));
      const platform = await countingPlatform(() => server);
      const proxy = await connectProxy({ portOf: () => platform.port });
      expect(await place(through(proxy.url), `http://${host}`)).toMatchObject({ kind: 'unknown' });
    });
  });

  describe('the platform behind a proxy, as the service follows it', () => {
    it('gives tokens, lists and live streams, and takes an order once', async () => {
      const client = await orderClient();
      const { platform, staging, stream, stagingStream, clientId, clientSecret } = client.at;
      const portAt = (url: string) => Number(new URL(url).port);
      const ports: Readonly<Record<string, number>> = { 'api.test': portAt(platform), 'staging.test': portAt(staging) };
      const proxy = await connectProxy({ portOf: (authority) => ports[authority.replace(/:80$/, '')] });
      const proxies = through(proxy.url);
      const deps = platformDeps('http://api.test', { clientId, clientSecret }, proxies);
      const sink = new ReducingSink(systemClock);
      const metrics = createMetrics();
      const at = (url: string, name: string) => Object.assign(new URL(url), { host: name, port: '' }).href;
      const connectors = new Connectors(
        {
          ...{
            clock: systemClock,
            random: seededRandom(5),
            sink,
            registry: sink,
            metrics: metrics.source,
            log: silentLog,
          },
          openSocket: wsSocketFactory(systemClock, wsSocketDefaults, proxies),
          budget: new ByteBudget({ maxBytes: 64_000_000 }),
        },
        { streamUrls: { account: at(stream, 'api.test'), prediction: at(stagingStream, 'staging.test') } },
      );
      const reads = platformReads(deps, { platformUrl: 'http://api.test', stagingUrl: 'http://staging.test' });
      connectors.add('client', { venue: platformVenue, reads, tokens: deps.tokens, log: silentLog });
      await connectors.begin();
      onTestFinished(() => connectors.end());
      await eventually(() => {
        for (const each of ['account', 'prediction'] as const)
          expect(connectors.account(each, enrolled)?.live).toBe(true);
      });
      const accounts = {
        hasListed: true,
        streams: ['account', 'prediction'],
        tokensFor: () => deps.tokens,
        account: (...account: Parameters<typeof connectors.account>) => connectors.account(...account),
      };
      const entry = platformEntry(
        {
          accounts,
          lines: new SocketWriteLines({ clock: systemClock, proxies }),
          clock: systemClock,
          metrics: metrics.platform,
        },
        { platformUrl: 'http://api.test', stagingUrl: 'http://staging.test' },
      );
      const { accountId: _, ...terms } = limitOrder;
      const request = { kind: 'place', stream: 'account', accountId: enrolled, terms } as const;
      const { signal } = new AbortController();
      const sent = await entry.send(request, 'tm-proxied', {
        mayWrite: async () => true,
        mayStillWrite: () => true,
        signal,
      });
      expect(sent).toMatchObject({ kind: 'accepted', answer: { clOrdId: 'tm-proxied' } });
      expect((await client.decisions()).filter((line) => line.decision === 'accepted')).toHaveLength(1);
      expect(new Set(proxy.asked)).toEqual(new Set(['CONNECT api.test:80', 'CONNECT staging.test:80']));
    });
  });

  describe('the settings', () => {
    const load = (env: Record<string, string>) => loadConfig(env, () => '');

    it('in small letters win, and blank ones count as not set', () => {
      const loaded = load({
        HTTPS_PROXY: 'http://a.test:1',
        https_proxy: 'b.test:2',
        HTTP_PROXY: 'c.test:3',
        http_proxy: ' ',
        NO_PROXY: '',
      });
      const proxies = loaded.ok ? new Proxies(loaded.config) : undefined;
      expect(proxies?.proxyFor(new URL('wss://x.test'))?.name).toBe('http://b.test:2');
      expect(proxies?.proxyFor(new URL('ws://x.test'))?.name).toBe('http://c.test:3');
    });

    it('never show the user or the password of a proxy', () => {
      const loaded = load({ https_proxy: 'http://key-of-us:hush-hush@a.test:1' });
      expect(JSON.stringify(loaded)).not.toMatch(/key-of-us|hush-hush/);
      const shown = loaded.ok ? loaded.effective.find(({ env }) => env === 'HTTPS_PROXY')?.shown : '';
      expect(shown).toBe('http://[redacted]@a.test:1');
    });

    it('refuse what is not an HTTP proxy', () => {
      const loaded = load({ HTTPS_PROXY: 'socks5://a.test:1' });
      expect(loaded.ok ? [] : loaded.faults.map(({ name }) => name)).toEqual(['HTTPS_PROXY']);
    });

    it('are shown by doctor, address by address', () => {
      const loaded = load({
        ...{ HTTPS_PROXY: 'http://u:hush-hush@a.test:1', NO_PROXY: 'auth.test' },
        ...{
          PLATFORM_URL: 'https://api.test',
          PLATFORM_STREAM_URL: 'wss://api.test/s',
          PLATFORM_AUTH_URL: 'https://auth.test',
        },
      });
      expect(loaded.ok ? checkProxies(loaded.config).map(({ detail }) => detail) : loaded.faults).toEqual([
        'PLATFORM_URL (api.test), PLATFORM_STREAM_URL (api.test): reached through http://a.test:1',
        'PLATFORM_AUTH_URL (auth.test): reached directly',
      ]);
      const none = load({ PLATFORM_URL: 'https://api.test' });
      expect(none.ok ? checkProxies(none.config) : none.faults).toEqual([]);
      const seen = (env: Record<string, string>) =>
        (none.ok ? checkProxies(none.config, env) : []).map(({ verdict, detail }) => [verdict, detail.split(':')[0]]);
      expect(seen({ NODE_USE_ENV_PROXY: '1' })).toEqual([['warn', 'NODE_USE_ENV_PROXY is 1']]);
      expect(seen({ NODE_OPTIONS: '--no-warnings --use-env-proxy' })).toEqual([
        ['warn', 'NODE_OPTIONS has --use-env-proxy'],
      ]);
      expect(seen({ NODE_USE_ENV_PROXY: '0', NODE_OPTIONS: '--use-env-proxying' })).toEqual([]);
    });
  });
});

describe("issue: A proxy's refusal of a wrong password asked for a user and password, which were given.", () => {
  it.each([
    ['someone:hush-hush@', /407: it does not take the user and password/],
    ['', /407: it wants a user and password/],
  ])('a 407 to "%s" says what to do', async (credentials, words) => {
    const proxy = await connectProxy({ manner: { status: 407 }, portOf: () => 1 });
    const address = new Secret(`http://${credentials}127.0.0.1:${proxy.port}`);
    const http = new UndiciHttp({ clock: systemClock, proxies: new Proxies({ httpProxy: address }) });
    onTestFinished(() => http.close());
    const read = await http.request({ operation: 'health', method: 'GET', url: 'http://platform.test/', headers: {} });
    expect(read).toMatchObject({ kind: 'failed', sent: 'no', message: expect.stringMatching(words) });
    expect(JSON.stringify(read)).not.toContain('hush-hush');
  });
});
