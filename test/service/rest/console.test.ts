import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { ConsoleSite } from '../../../src/service/rest/console/console-site.ts';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { sendRaw } from '../../support/servers/raw-socket.ts';

let rig: Awaited<ReturnType<typeof startRest>>;
const stop = () => rig.server.drain(new AbortController().signal);

beforeEach(async () => {
  const token = { name: 'desk', sha256: sha256('secret'), scopes: ['orders:read'], accounts: 'all' as const };
  rig = await startRest({ withConsole: true, auth: { tokens: [token] } });
});
afterEach(() => stop());

/** Addresses that the page names. */
function namedIn(html: string): string[] {
  return [...html.matchAll(/"(\/console\/app\/[^"]+)"/g)].map(([, path = '']) => path);
}

async function scriptOf(address: string): Promise<{ readonly path: string; readonly text: string }> {
  const [path = ''] = namedIn((await ask(`${address}/console`)).text).filter((named) => named.endsWith('.js'));
  return { path, text: (await ask(`${address}${path}`)).text };
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

  it('allows nothing inline', async () => {
    const { headers, text } = await ask(`${rig.address}/console`);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|data:|blob:|http|sha256/);
    expect(text).not.toMatch(/<script(?![^>]*src=)[^>]*>|<style|\s(?:style|on\w+)=/);
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  });

  it('is one script, one style and an icon of at most 90 kB together, served for good, plain or gzipped', async () => {
    const { text } = await ask(`${rig.address}/console`);
    const named = namedIn(text);
    expect(named.map((path) => path.replace(/-\w{8}\./, '.')).sort()).toEqual(
      ['icon.svg', 'main.js', 'style.css'].map((name) => `/console/app/${name}`),
    );
    let bytes = Buffer.byteLength(text);
    for (const path of named) {
      const plain = await ask(`${rig.address}${path}`, { headers: { 'accept-encoding': 'identity' } });
      expect([path, plain.status]).toEqual([path, 200]);
      expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(plain.headers.get('content-type')).toMatch(
        /^(?:text\/javascript|text\/css); charset=utf-8$|^image\/svg\+xml$/,
      );
      expect(plain.text).not.toMatch(/\bimport type\b|\bprocess\.env\b|\beval\(|\bnew Function\(/);
      const raw = await sendRaw(
        rig.address,
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n`,
      );
      bytes += Number(/content-length: (\d+)/i.exec(String(raw))?.[1]);
    }
    expect(bytes).toBeLessThan(90_000);
  });

  it('leaves what few readers need to a later request, by a name with the digest of its content', async () => {
    const { text } = await scriptOf(rig.address);
    const later = [...text.matchAll(/import\("\.\/((\w+)-\w{8}\.js)"\)/g)];
    expect(later.map(([, , name]) => name).sort()).toEqual(['oauth4webapi', 'uplot']);
    for (const [, file] of later) expect((await ask(`${rig.address}/console/app/${file}`)).status).toBe(200);
    // Nothing else: all screens are in the one script.
    expect(text.match(/\bfrom\s*"\.|\bimport\s*"/)).toBeNull();
  });

  it('has a map for the tools of the browser, with the names and texts of the sources', async () => {
    const { path, text } = await scriptOf(rig.address);
    expect(text.trimEnd().endsWith(`//# sourceMappingURL=${path.split('/').at(-1)}.map`)).toBe(true);
    const { status, headers, body } = await ask(`${rig.address}${path}.map`);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    const { sources, sourcesContent } = body as { sources: string[]; sourcesContent: string[] };
    const at = sources.findIndex((source) => source.endsWith('src/console/views/blotter.tsx'));
    expect(sourcesContent[at]).toBe(readFileSync('src/console/views/blotter.tsx', 'utf8'));
  });

  it('serves the runbooks as they are written, as plain text', async () => {
    const { status, headers, text } = await ask(`${rig.address}/console/runbooks/DeadLetters.md`);
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
      200,
      'text/plain; charset=utf-8',
      'private, no-cache',
    ]);
    expect(text).toBe(readFileSync('docs/runbooks/DeadLetters.md', 'utf8'));
    expect((await ask(`${rig.address}/console/runbooks/None.md`)).status).toBe(404);
    expect((await ask(`${rig.address}/console/runbooks/DeadLetters`)).text).toMatch(/^<!doctype html>/);
  });

  it('says how its readers sign in, without a token: here by tokens only', async () => {
    const { status, headers, body } = await ask(`${rig.address}/console/sign-in.json`);
    expect([status, headers.get('cache-control'), body]).toEqual([200, 'no-store', {}]);
  });

  it('has nothing beside its files', async () => {
    for (const path of ['/console/app/main.js', '/console/app/', '/console/app/0/main.ts'])
      expect([path, (await ask(`${rig.address}${path}`)).status]).toEqual([path, 404]);
    for (const path of ['/console/app/../../package.json', '/console/app/%2e%2e/x'])
      expect([path, (await ask(`${rig.address}${path}`)).status]).not.toEqual([path, 500]);
  });

  it('is not there when it is turned off', async () => {
    await stop();
    rig = await startRest();
    for (const path of ['/', '/console', '/console/']) expect((await ask(`${rig.address}${path}`)).status).toBe(404);
  });
});

describe('issue: A service that was stopped some 3 s after its start sometimes ended with SIGABRT.', () => {
  // A service that was stopped some 3 s after its start ended with SIGABRT, one time in a hundred:
  // Node ends the worker, and cannot when that is about to compress.
  it('the console stops only when its worker has ended', async () => {
    const site = new ConsoleSite({ fetch, clock: systemClock, log: testLog });
    let isMade = false;
    void site.site().then(() => {
      isMade = true;
    });
    await site.stop();
    expect(isMade).toBe(true);
  });

  it('a console that was never asked for stops at once, and is not made later', async () => {
    const timers: (() => void)[] = [];
    const clock = {
      ...systemClock,
      after: (_ms: number, run: () => void) => {
        timers.push(run);
        return { cancel: () => void timers.splice(timers.indexOf(run), 1) };
      },
    };
    const site = new ConsoleSite({ fetch, clock, log: testLog });
    site.start();
    expect(timers).toHaveLength(1);
    await site.stop();
    expect(timers).toEqual([]);
  });
});
