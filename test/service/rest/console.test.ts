import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { sendRaw } from '../../support/servers/raw-socket.ts';

let rig: Awaited<ReturnType<typeof startRest>>;
const stop = () => rig.server.drain(new AbortController().signal);

beforeEach(async () => {
  const token = { name: 'desk', sha256: sha256('secret'), scopes: ['orders:read'], accounts: 'all' as const };
  rig = await startRest({ withConsole: true, auth: { tokens: [token] } });
});
afterEach(() => stop());

/** Addresses that the page names, in its tags and its import map. */
function namedIn(html: string): string[] {
  return [...new Set([...html.matchAll(/"(\/console\/(?:app|pkg)\/[^"]+)"/g)].map(([, path = '']) => path))];
}

describe('the console over HTTP', () => {
  it('is led to from /, needs no token, and is one page for every screen', async () => {
    const root = await ask(`${rig.address}/`);
    expect([root.status, root.headers.get('location')]).toEqual([302, '/console']);
    const page = await ask(`${rig.address}/console`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers.get('cache-control')).toBe('private, no-cache');
    for (const path of ['/console/', '/console/orders/account/x?y', '/console/anything'])
      expect((await ask(`${rig.address}${path}`)).text).toBe(page.text);
  });

  it('allows nothing inline but the import map, by its hash', async () => {
    const { headers, text } = await ask(`${rig.address}/console`);
    const policy = headers.get('content-security-policy') ?? '';
    const [, map = ''] = /<script type="importmap">(.*?)<\/script>/.exec(text) ?? [];
    expect(policy).toContain(`script-src 'self' 'sha256-${hash('sha256', map, 'base64')}'`);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|data:|blob:|http/);
    expect(text.match(/<script(?![^>]*src=)[^>]*>/g)).toEqual(['<script type="importmap">']);
    expect(text).not.toMatch(/<style|\s(?:style|on\w+)=/);
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  });

  it('serves every file that it names, for good, plain or gzipped, without types', async () => {
    const { text } = await ask(`${rig.address}/console`);
    const named = namedIn(text);
    expect(named.length).toBeGreaterThan(30);
    // The import map also names packages that a later screen fetches.
    const first = namedIn(text.replace(/<script type="importmap">.*?<\/script>/, ''));
    let bytes = 0;
    for (const path of named) {
      const plain = await ask(`${rig.address}${path}`, { headers: { 'accept-encoding': 'identity' } });
      expect([path, plain.status]).toEqual([path, 200]);
      expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(plain.headers.get('content-type')).toMatch(
        /^(?:text\/javascript|text\/css); charset=utf-8$|^image\/svg\+xml$/,
      );
      expect(plain.text).not.toMatch(/\bimport type\b|\bprocess\.env\b/);
      const raw = await sendRaw(
        rig.address,
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n`,
      );
      if (first.includes(path)) bytes += Number(/content-length: (\d+)/i.exec(String(raw))?.[1]);
    }
    expect(bytes).toBeLessThan(80_000);
  });

  it('fetches the modules of the first screen at once, and those of others when they are opened', async () => {
    const { text } = await ask(`${rig.address}/console`);
    const preloaded = namedIn(text.replace(/<script type="importmap">.*?<\/script>/, ''));
    expect(
      preloaded.filter((path) => /\/views\/(?:blotter|runbook-page)\.ts$|uPlot\.esm|oauth4webapi/.test(path)),
    ).toEqual([expect.stringMatching(/\/views\/blotter\.ts$/)]);
    const [main = ''] = preloaded.filter((path) => path.endsWith('/main.ts'));
    const later = await ask(`${rig.address}${main.replace('/main.ts', '/views/runbook-page.ts')}`);
    expect([later.status, later.text.includes('RunbookPage')]).toEqual([200, true]);
  });

  it('serves the runbooks as they are written, as plain text', async () => {
    const { status, headers, text } = await ask(`${rig.address}/console/runbooks/Quarantined.md`);
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
      200,
      'text/plain; charset=utf-8',
      'private, no-cache',
    ]);
    expect(text).toBe(readFileSync('docs/runbooks/Quarantined.md', 'utf8'));
    expect((await ask(`${rig.address}/console/runbooks/None.md`)).status).toBe(404);
    expect((await ask(`${rig.address}/console/runbooks/Quarantined`)).text).toMatch(/^<!doctype html>/);
  });

  it('says how its readers sign in, without a token: here by tokens only', async () => {
    const { status, headers, body } = await ask(`${rig.address}/console/sign-in.json`);
    expect([status, headers.get('cache-control'), body]).toEqual([200, 'no-store', {}]);
  });

  it('has nothing beside its files', async () => {
    for (const path of [
      '/console/app/0/main.ts',
      '/console/pkg/preact@0/x',
      '/console/app/../../package.json',
      '/console/app/%2e%2e/x',
    ])
      expect([path, (await ask(`${rig.address}${path}`)).status]).not.toEqual([path, 500]);
    expect((await ask(`${rig.address}/console/app/0/main.ts`)).status).toBe(404);
    expect((await ask(`${rig.address}/console/pkg/preact@0/x`)).status).toBe(404);
  });

  it('is not there when it is turned off', async () => {
    await stop();
    rig = await startRest();
    for (const path of ['/', '/console', '/console/']) expect((await ask(`${rig.address}${path}`)).status).toBe(404);
  });
});
