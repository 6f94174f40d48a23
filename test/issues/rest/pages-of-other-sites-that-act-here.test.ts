// What a user saw: A web page of another site could send commands to the service through a user's browser.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { routeTable } from '../../../src/service/rest/route-table.ts';
import { sampleCommand } from '../../support/commands/scripted-commands.ts';
import { sampleRow } from '../../support/orders/memory-quarantine.ts';
import { startAdmin } from '../../support/rest/admin-rig.ts';
import { ask, startRest } from '../../support/rest/rest-rig.ts';
import { sampleRequest } from '../../support/rest/route-samples.ts';
import { sendRaw } from '../../support/servers/raw-socket.ts';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function rest() {
  const rig = await startRest();
  stops.push(() => rig.server.drain(new AbortController().signal));
  return rig;
}

// One for all pages that get nothing done: what one of them did would fail every later test too.
let untouched: Awaited<ReturnType<typeof startRest>>;
beforeAll(async () => {
  untouched = await startRest();
});
afterAll(() => untouched.server.drain(new AbortController().signal));

const unsafe = routeTable.filter(({ method }) => method !== 'GET').map((route) => [route.operationId, route] as const);

/**
 * The request as a browser sends it for a page, which may leave
 * these headers out and can't change them.
 */
const foreign: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['of another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
  ['of another port of this machine', { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:3000' }],
  ['of another site in an older browser', { origin: 'https://evil.example' }],
  ['of another port in an older browser', { origin: 'http://127.0.0.1:3000' }],
  ['without an origin that can be named', { origin: 'null' }],
];

describe.each(unsafe)('%s', (_name, route) => {
  it.each(foreign)('does nothing for a page %s', async (_page, headers) => {
    const { address, commands } = untouched;
    const { path, init } = sampleRequest(route, { headers });
    const { status, body } = await ask(`${address}${path}`, init);
    expect([status, body['code']]).toEqual([403, 'CROSS_SITE_REQUEST']);
    expect([commands.submissions, commands.words, commands.reconciled]).toEqual([[], [], []]);
  });

  it.each<[string, (address: string) => Readonly<Record<string, string>>]>([
    ['a page of our own', (address) => ({ 'sec-fetch-site': 'same-origin', origin: address })],
    ['a page of our own in an older browser', (address) => ({ origin: address })],
    ['programs', () => ({})],
  ])('is open to %s', async (_caller, headersFor) => {
    const { address, reads, quarantine } = await rest();
    reads.commands = [{ command: sampleCommand(), evidence: [] }];
    quarantine.rows = [sampleRow()];
    const { path, init } = sampleRequest(route, { headers: headersFor(address) });
    // 202: the work is written down, and done later.
    expect([200, 202]).toContain((await ask(`${address}${path}`, init)).status);
  });
});

describe('the admin port', () => {
  const get = (address: string, path: string, host: string) =>
    sendRaw(address, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);

  it.each(['/status', '/metrics', '/readyz?verbose', '/livez', '/none'])(
    'does not answer %s to a page whose name was made to resolve here',
    async (path) => {
      const address = await startAdmin(stops);
      for (const host of ['evil.example', 'evil.example:9464', 'localhost.evil.example', '10.0.0.1'])
        expect(await get(address, path, host)).toMatch(/^HTTP\/1\.1 421 .*HOST_NOT_NAMED/s);
    },
  );

  it('answers to loopback names, to the address that it was reached at, and to the names that are configured', async () => {
    const address = await startAdmin(stops, { host: '0.0.0.0', names: ['tidemark', 'desk.example'] });
    for (const host of ['localhost', '127.0.0.1:9464', '[::1]', 'TIDEMARK:9464', 'desk.example'])
      expect(await get(address, '/livez', host)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await get(address, '/livez', 'evil.example')).toMatch(/^HTTP\/1\.1 421 /);
  });

  it('answers to the name that it listens on', async () => {
    const address = await startAdmin(stops, { host: 'localhost' });
    expect(await get(address, '/livez', `localhost:${new URL(address).port}`)).toMatch(/^HTTP\/1\.1 200 /);
  });
});
