import { afterEach, describe, expect, it } from 'vitest';
import { routeTable } from '../../../src/service/rest/route-table.ts';
import { sampleCommand } from '../../support/commands/scripted-commands.ts';
import { ask, type RestRigOptions, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { accountBody, sampleRequest } from '../../support/rest/route-samples.ts';
import { eventually } from '../../support/runs/poll.ts';
import { sendRaw } from '../../support/servers/raw-socket.ts';

const desk = 'https://desk.example.com';
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function start(options: RestRigOptions = {}) {
  const rig = await startRest({ origins: [desk, 'http://localhost:5173'], ...options });
  stops.push(() => rig.server.drain(new AbortController().signal));
  return rig;
}

const corsOf = (headers: Headers) => [...headers].filter(([name]) => name.startsWith('access-control'));
const others = [
  'https://evil.example',
  'https://desk.example.com.evil.example',
  'http://desk.example.com',
  'null',
  `${desk}, ${desk}`,
];

function preflight(address: string, origin: string, path = '/v1/orders') {
  const headers = `Origin: ${origin}\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n`;
  return sendRaw(address, `OPTIONS ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Connection: close\r\n\r\n`);
}

function expectNoPreflight(answer: string): void {
  expect(answer).toMatch(/^HTTP\/1\.1 405 /);
  expect(answer).not.toContain('access-control');
  expect(answer).toContain('TIDEMARK_HTTP_ORIGINS does not name it');
}

describe('a page of an origin that is named', () => {
  it('may ask whether it may ask, without a token, for every method and header of the routes', async () => {
    const { address } = await start({
      auth: { tokens: [{ name: 'a', sha256: sha256('t'), scopes: [], accounts: 'all' }] },
    });
    const answer = await preflight(address, desk);
    expect(answer).toMatch(/^HTTP\/1\.1 204 /);
    expect(answer).toContain(`access-control-allow-origin: ${desk}\r\n`);
    const [, methods] = /access-control-allow-methods: (.*)\r\n/.exec(answer) ?? [];
    const [, headers] = /access-control-allow-headers: (.*)\r\n/.exec(answer) ?? [];
    expect(new Set(methods?.split(', '))).toEqual(new Set(routeTable.map(({ method }) => method)));
    for (const name of ['Authorization', 'Content-Type', 'Idempotency-Key', 'If-Match', 'Last-Event-ID', 'Prefer'])
      expect(headers?.split(', ')).toContain(name);
    expect(answer).not.toContain('allow-credentials');
  });

  it('reads answers, problems and the event stream', async () => {
    const { address, reads } = await start();
    reads.addUpdate();
    for (const path of ['/v1/orders', '/nothing', '/v1/orders?limit=x']) {
      const { headers } = await ask(`${address}${path}`, { headers: { origin: desk } });
      expect([headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([desk, 'Origin']);
      expect(headers.get('access-control-expose-headers')).toContain('ETag');
    }
    const stream = await fetch(`${address}/v1/stream`, { headers: { origin: desk } });
    expect(stream.headers.get('access-control-allow-origin')).toBe(desk);
    await stream.body?.cancel();
  });

  it('reads that its token is not accepted', async () => {
    const { address } = await start({
      auth: { tokens: [{ name: 'a', sha256: sha256('t'), scopes: [], accounts: 'all' }] },
    });
    const { status, headers } = await ask(`${address}/v1/orders`, { headers: { origin: desk } });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([401, desk]);
  });

  it.each(routeTable.filter(({ method }) => method !== 'GET').map((route) => [route.operationId, route] as const))(
    'may change: %s',
    async (_name, route) => {
      const { address } = await start();
      const { path, init } = sampleRequest(route, { headers: { origin: desk, 'sec-fetch-site': 'cross-site' } });
      const { body } = await ask(`${address}${path}`, init);
      expect(body['code']).not.toBe('CROSS_SITE_REQUEST');
    },
  );
});

describe.each(others)('a page of %s', (origin) => {
  it('reads nothing and changes nothing', async () => {
    const { address, commands } = await start();
    const read = await ask(`${address}/v1/orders`, { headers: { origin } });
    expect([corsOf(read.headers), read.headers.get('vary')]).toEqual([[], 'Origin']);
    expectNoPreflight(await preflight(address, origin));
    const halt = { method: 'POST', headers: { origin, 'content-type': 'application/json' }, body: '{"reason":"a"}' };
    for (const site of [{}, { 'sec-fetch-site': 'cross-site' }]) {
      const { status, body } = await ask(`${address}/v1/halt`, { ...halt, headers: { ...halt.headers, ...site } });
      expect([status, body['code']]).toEqual([403, 'CROSS_SITE_REQUEST']);
    }
    expect(commands.words).toEqual([]);
  });
});

it('without origins no header of CORS is sent, and a preflight is refused', async () => {
  const { address } = await start({ origins: [] });
  const { headers } = await ask(`${address}/v1/orders`, { headers: { origin: desk } });
  expect([corsOf(headers), headers.get('vary')]).toEqual([[], null]);
  expectNoPreflight(await preflight(address, desk));
});

it('a page reads that the instance is stopping', async () => {
  const rig = await startRest({ origins: [desk] });
  let release = () => {};
  rig.commands.submitAnswer = () =>
    new Promise((resolve) => {
      release = () => resolve({ kind: 'journaled', command: sampleCommand(), replayed: false });
    });
  const headers = { origin: desk, 'content-type': 'application/json', 'idempotency-key': 'k' };
  const waiting = ask(`${rig.address}/v1/orders`, { method: 'POST', headers, body: JSON.stringify(accountBody) });
  await eventually(() => expect(rig.commands.submissions).toHaveLength(1));
  const drained = rig.server.drain(new AbortController().signal);
  expect(await preflight(rig.address, desk)).toMatch(/^HTTP\/1\.1 204 /);
  const refused = await ask(`${rig.address}/v1/orders`, { headers: { origin: desk } });
  expect([refused.body['code'], refused.headers.get('access-control-allow-origin')]).toEqual(['DRAINING', desk]);
  release();
  await waiting;
  await drained;
});

it('an OPTIONS request that is no preflight is answered as before', async () => {
  const { address } = await start();
  const { status, body } = await ask(`${address}/v1/orders`, { method: 'OPTIONS', headers: { origin: desk } });
  expect([status, body['detail']]).toEqual([405, 'this path has no such method: see Allow']);
});
