import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { scopes } from '../../../src/service/rest/auth/principal.ts';
import { sha256, startRest } from '../../support/rest/rest-rig.ts';
import { openPage } from '../../support/servers/browser.ts';

/** An empty page on a port of its own. */
async function site(): Promise<string> {
  const server = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>a page'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('in Chromium a page of a named origin reads, acts and follows the stream, and a page of another does none of it', async () => {
  const [desk, evil] = [await site(), await site()];
  const auth = { tokens: [{ name: 'desk', sha256: sha256('t'), scopes, accounts: 'all' as const }] };
  const rig = await startRest({ origins: [desk], auth });
  onTestFinished(() => rig.server.drain(new AbortController().signal));
  rig.reads.addUpdate();
  const page = await openPage({ script: true });

  const attempt = (path: string, init: { readonly method?: string; readonly body?: string } = {}) =>
    page.evaluate(
      async ([url, given]) => {
        const headers = { authorization: 'Bearer t', 'x-request-id': 'mine', 'content-type': 'application/json' };
        const left = new AbortController();
        try {
          const response = await fetch(url, { ...given, headers, signal: left.signal });
          const seen = [response.status, response.headers.get('x-request-id')];
          left.abort();
          return seen;
        } catch {
          return 'kept away';
        }
      },
      [`${rig.address}${path}`, init] as const,
    );
  const halt = { method: 'POST', body: '{"reason":"a drill"}' };

  await page.goto(evil);
  for (const path of ['/v1/orders', '/v1/stream', '/nothing']) expect(await attempt(path)).toBe('kept away');
  expect(await attempt('/v1/halt', halt)).toBe('kept away');
  expect(rig.commands.words).toEqual([]);

  await page.goto(desk);
  for (const path of ['/v1/orders', '/v1/stream']) expect(await attempt(path)).toEqual([200, 'mine']);
  expect(await attempt('/nothing')).toEqual([404, 'mine']);
  expect(await attempt('/v1/halt', halt)).toEqual([200, 'mine']);
  expect(rig.commands.words.map(({ what }) => what)).toEqual(['halt']);
});
