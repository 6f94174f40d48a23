import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { ask, startRest } from '../../support/rest/rest-rig.ts';

/** The server of "Break it": it answers with the request that it got. */
async function startBreakIt(): Promise<string> {
  const breakIt = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      response.writeHead(request.url === '/breaks' ? 409 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ method: request.method, url: request.url, body }));
    });
  });
  await new Promise<void>((resolve) => breakIt.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    breakIt.closeAllConnections();
    breakIt.close();
  });
  return `http://127.0.0.1:${(breakIt.address() as AddressInfo).port}`;
}

async function startDemo(demoUrl?: string): Promise<string> {
  const { server, address } = await startRest({ withConsole: true, ...(demoUrl !== undefined && { demoUrl }) });
  onTestFinished(() => server.drain(new AbortController().signal));
  return address;
}

/** The text of the page's script. */
async function scriptOf(address: string): Promise<string> {
  const [, path] = /"(\/console\/app\/main-[^"]+\.js)"/.exec((await ask(`${address}/console`)).text) ?? [];
  return (await ask(`${address}${path}`)).text;
}

const json = { 'content-type': 'application/json' };

it('in the demo the service passes the requests of the page on to "Break it", and the answers back', async () => {
  const address = await startDemo(await startBreakIt());
  const read = await ask(`${address}/console/demo`);
  expect([read.status, read.body]).toEqual([200, { method: 'GET', url: '/', body: '' }]);
  const pressed = await ask(`${address}/console/demo/breaks`, {
    method: 'POST',
    headers: json,
    body: '{"fault":"cut"}',
  });
  expect([pressed.status, pressed.body]).toEqual([409, { method: 'POST', url: '/breaks', body: '{"fault":"cut"}' }]);
  expect(await scriptOf(address)).toContain('/console/demo');
});

it('a page of another site presses no button', async () => {
  const address = await startDemo(await startBreakIt());
  const headers = { ...json, 'sec-fetch-site': 'cross-site' };
  const refused = await ask(`${address}/console/demo/breaks`, { method: 'POST', headers, body: '{"fault":"cut"}' });
  expect([refused.status, refused.body['code']]).toEqual([403, 'CROSS_SITE_REQUEST']);
});

it('only "Break it" is reached, by names of one word', async () => {
  const address = await startDemo(await startBreakIt());
  for (const action of ['..%2fstop', 'a%2fb', 'Stop', 'a?b=http://x', '%40x'])
    expect([
      action,
      (await ask(`${address}/console/demo/${action}`, { method: 'POST', headers: json, body: '{}' })).body['url'],
    ]).toEqual([action, action === 'a?b=http://x' ? '/a' : undefined]);
});

it('a "Break it" that is gone is 503, with a sentence for the page', async () => {
  const address = await startDemo('http://127.0.0.1:9');
  const answer = await ask(`${address}/console/demo`);
  expect([answer.status, answer.body['code']]).toEqual([503, 'DEMO_AWAY']);
});

it('outside of the demo there is no such address, and the page does not know of it', async () => {
  const address = await startDemo();
  const pressed = await ask(`${address}/console/demo/breaks`, {
    method: 'POST',
    headers: json,
    body: '{"fault":"cut"}',
  });
  expect(pressed.status).toBe(404);
  expect(await scriptOf(address)).not.toContain('/console/demo');
});
