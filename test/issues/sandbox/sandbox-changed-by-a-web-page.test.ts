// What a user saw: Any web page that a developer had open could stop or change the sandbox.

import { describe, expect, it } from 'vitest';
import { BreakItServer } from '../../../src/demo/break-it/break-it-server.ts';
import { runningSandbox } from '../../support/platform/sandbox.ts';
import { sendRaw } from '../../support/servers/raw-socket.ts';

/** The status of a request as a browser sends it for a page. */
async function statusOf(
  address: string,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const { host } = new URL(address);
  const lines = Object.entries({ host, connection: 'close', 'content-length': '0', ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const answer = await sendRaw(address, `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  return Number(answer.match(/^HTTP\/1\.1 (\d+)/)?.[1]);
}

const pages: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['of another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
  ['of another site in an older browser', { origin: 'https://evil.example' }],
  ['of another port of this machine', { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' }],
  ['without an origin that can be named', { origin: 'null' }],
  ['whose name was made to resolve here', { host: 'evil.example', origin: 'http://evil.example' }],
  ['whose name was made to resolve here, as its own', { host: 'evil.example', 'sec-fetch-site': 'same-origin' }],
  ['with a form', { origin: 'https://evil.example', 'content-type': 'application/x-www-form-urlencoded' }],
];

/**
 * A verb without a body is a simple request of a browser: any page that a
 * developer had open could stop the sandbox.
 */
describe.each(['/heal', '/day', '/stop', '/faults', '/rate'])('POST %s of the control port', (verb) => {
  it.each(pages)('does nothing for a page %s', async (_page, headers) => {
    const { description } = await runningSandbox();
    expect(await statusOf(description.control, 'POST', verb, headers)).toBe(403);
    expect(await statusOf(description.control, 'GET', '/status', {})).toBe(200);
  });
});

describe('the control port', () => {
  it('shows nothing to a page whose name was made to resolve here', async () => {
    const { description } = await runningSandbox();
    for (const path of ['/status', '/faults', '/state', '/ledger', '/'])
      expect(await statusOf(description.control, 'GET', path, { host: 'evil.example' }), path).toBe(403);
  });

  it('answers programs, and a person who types its address', async () => {
    const { description } = await runningSandbox();
    expect(await statusOf(description.control, 'POST', '/heal', {})).toBe(200);
    expect(await statusOf(description.control, 'GET', '/', { 'sec-fetch-site': 'none' })).toBe(200);
    const { port } = new URL(description.control);
    expect(await statusOf(description.control, 'POST', '/heal', { host: `localhost:${port}` })).toBe(200);
  });
});

describe('"Break it" of the demo', () => {
  it.each(pages)('does nothing for a page %s', async (_page, headers) => {
    const breakIt = new BreakItServer();
    const address = await breakIt.open();
    expect(await statusOf(address, 'POST', '/proofs', headers)).toBe(403);
    // No demo is attached.
    expect(await statusOf(address, 'POST', '/proofs', {})).toBe(503);
    await breakIt.close();
  });
});
