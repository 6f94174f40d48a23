// What a user saw: A page of another program at an old address was the answer to a place.

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import type { OtherInstances } from '../../../src/service/fleet/other-instances.ts';
import { ask, startRest } from '../../support/rest/rest-rig.ts';
import { accountBody } from '../../support/rest/route-samples.ts';

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});
const notLeader = { kind: 'declined', code: 'NOT_LEADER', message: 'x' } as const;

/** Status and code of a place for an account that another instance holds. */
async function placeAt(listener: RequestListener): Promise<[number, unknown]> {
  const http = createServer(listener);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  stops.push(() => {
    http.closeAllConnections();
    http.close();
  });
  const address = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const others: OtherInstances = {
    holderOf: () => ({ instance: 'odd', address }),
    all: () => [{ instance: 'odd', address }],
  };
  const asked = await startRest({ instance: 'asked', others, forwards: { most: 4, ms: 700 } });
  stops.push(() => asked.server.drain(new AbortController().signal));
  asked.commands.submitAnswer = () => notLeader;
  const answer = await ask(`${asked.address}/v1/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'k' },
    body: JSON.stringify({ ...accountBody, accountId: 'ACC-1' }),
  });
  return [answer.status, answer.body['code']];
}

function idOf({ headers }: IncomingMessage): { readonly 'x-request-id': string } {
  return { 'x-request-id': String(headers['x-request-id']) };
}

/** Writes the same again and again, until the other side has gone. */
function dripped({ socket }: IncomingMessage, text: string): void {
  const timer = setInterval(() => socket.write(text), 20);
  socket.on('error', () => undefined).on('close', () => clearInterval(timer));
}

function withoutEnd(response: ServerResponse): void {
  const piece = Buffer.alloc(1_000_000, 'a');
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
    if (!response.destroyed) response.once('drain', more);
  };
  more();
}

it.each<[string, RequestListener]>([
  [
    'sends its answer byte by byte',
    (request, response) => {
      response.writeHead(200, { ...idOf(request), 'content-type': 'application/json' });
      dripped(request, '1\r\n \r\n');
    },
  ],
  [
    'sends its headers one by one',
    (request) => {
      request.socket.write('HTTP/1.1 200 OK\r\n');
      dripped(request, 'x-a: b\r\n');
    },
  ],
  ['says that it is at work, without end', (request) => dripped(request, 'HTTP/1.1 102 Processing\r\n\r\n')],
  ['never answers', () => undefined],
  ['ends the connection', ({ socket }) => socket.destroy()],
  ['answers 500 without an end', (request, response) => withoutEnd(response.writeHead(500, idOf(request)))],
  [
    'sends elsewhere',
    (request, response) => {
      const headers = { ...idOf(request), 'content-type': 'application/json', location: 'http://127.0.0.1:1/' };
      response.writeHead(307, headers).end('{}');
    },
  ],
  [
    'is a page',
    (request, response) => {
      response.writeHead(200, { ...idOf(request), 'content-type': 'text/html' }).end('<p>Welcome</p>');
    },
  ],
  [
    'says nothing of what it sends',
    (request, response) => {
      response.writeHead(200, idOf(request)).end('hello');
    },
  ],
  [
    'answers another request',
    (_request, response) => {
      response.writeHead(200, { 'x-request-id': 'other', 'content-type': 'application/json' }).end('{}');
    },
  ],
])(
  'a place for an instance that %s has an answer that was lost, in time',
  async (_what, listener) => {
    expect(await placeAt(listener)).toEqual([503, 'FORWARD_UNANSWERED']);
  },
  20_000,
);

it('an answer of ours is passed on', async () => {
  const answer = await placeAt((request, response) => {
    const headers = { ...idOf(request), 'content-type': 'application/problem+json; charset=utf-8' };
    response.writeHead(409, headers).end('{"code":"PLACING_HALTED"}');
  });
  expect(answer).toEqual([409, 'PLACING_HALTED']);
});
