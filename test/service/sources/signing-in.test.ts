import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { Connection, type ConnectionHandlers } from '../../../src/service/sources/connection.ts';
import type { ConnectionEnd } from '../../../src/service/sources/socket.ts';
import { streamTimingDefaults } from '../../../src/service/sources/stream-timings.ts';
import { wsSocketFactory } from '../../../src/service/sources/ws-socket.ts';
import type { Frame, StreamProtocol } from '../../../src/venue/venue.ts';
import { streamServer } from './stream-server.ts';

/** A venue whose session signs in by a message. Its frames name no account, its answers no id. */
const spoken: StreamProtocol = {
  hello: (credential, atMs) => `hello ${credential.reveal()} ${atMs}`,
  read: (text): Frame => JSON.parse(text) as Frame,
  subscribe: () => 'listen',
  unsubscribe: () => 'leave',
};
const event = { kind: 'event', stream: 'account', row: { ordId: 'o-1' } } as const;

/** A connection to a server that answers each message by `answers`. */
async function connected(answers: (message: string) => readonly Frame[], protocol = spoken) {
  const said: string[] = [];
  const clients: WebSocket[] = [];
  const server = await streamServer({
    onClient: (client) => {
      clients.push(client);
      client.on('message', (data) => {
        said.push(String(data));
        // As binary messages: a venue may send its text so.
        for (const frame of answers(String(data))) client.send(Buffer.from(JSON.stringify(frame)));
      });
    },
  });
  onTestFinished(() => server.close());
  const { promise: end, resolve } = Promise.withResolvers<ConnectionEnd>();
  const handlers = {
    onOpen: vi.fn<ConnectionHandlers['onOpen']>(),
    onEvent: vi.fn<ConnectionHandlers['onEvent']>(),
    onUnreadable: vi.fn<ConnectionHandlers['onUnreadable']>(),
    onControl: vi.fn<ConnectionHandlers['onControl']>(),
    onPongsMissing: () => undefined,
    onEnd: resolve,
  };
  const token = { secret: new Secret('key:canary'), generation: 1, expiresAtMs: Number.POSITIVE_INFINITY };
  const timings = { ...streamTimingDefaults, ackMs: 300 };
  const connection = new Connection(
    { clock: { ...systemClock, nowMs: () => 1_700_000_000_000 }, openSocket: wsSocketFactory(systemClock) },
    { protocol, url: server.url, token, timings },
    handlers,
  );
  onTestFinished(() => connection.terminate({ reason: 'stopped', detail: 'the test is over' }));
  const send = (frame: Frame) => clients[0]?.send(JSON.stringify(frame));
  return { server, said, end, connection, handlers, send };
}

const welcome = (message: string): readonly Frame[] =>
  message === 'listen' ? [{ kind: 'subscribed' }] : message === 'leave' ? [] : [{ kind: 'signed_in' }];

it('signs in by its first message, and sends no header', async () => {
  const { server, said, handlers, connection } = await connected(welcome);
  await vi.waitFor(() => expect(handlers.onOpen).toHaveBeenCalledOnce());
  expect([said, server.tokens]).toEqual([['hello key:canary 1700000000000'], ['']]);
  expect(connection.isOpen).toBe(true);
});

describe('issue: A venue that signs the headers of its socket could not be followed: they were a bearer token.', () => {
  it('sends the headers of the venue, and no token', async () => {
    const { hello: _, ...silent } = spoken;
    const upgrade: StreamProtocol['upgrade'] = (credential, { method, url, atMs }) => ({
      authorization: `signed ${method} ${URL.parse(url)?.pathname} ${atMs}`,
      'x-key': credential,
    });
    const { server, said, handlers } = await connected(welcome, { ...silent, upgrade });
    await vi.waitFor(() => expect(handlers.onOpen).toHaveBeenCalledOnce());
    expect([said, server.tokens]).toEqual([[], ['signed GET /v1/stream 1700000000000']]);
  });
});

it('is not open, and hands nothing over, before the venue has answered', async () => {
  const { handlers, connection, end } = await connected(() => [event, { kind: 'heartbeat' }]);
  expect(await end).toEqual({ reason: 'ack_timeout', detail: 'the sign-in was not answered within 300 ms' });
  expect([handlers.onOpen, handlers.onEvent, handlers.onControl].map(({ mock }) => mock.calls.length)).toEqual([
    0, 0, 0,
  ]);
  expect(connection.isOpen).toBe(false);
});

it.each([
  ['before it is open', (): readonly Frame[] => [{ kind: 'ended', reason: 'unauthorized', message: 'no such key' }]],
  [
    'later',
    (message: string): readonly Frame[] =>
      message === 'listen' ? [{ kind: 'ended', reason: 'unauthorized', message: 'no such key' }] : welcome(message),
  ],
])("ends for the reason of the venue's own message, %s", async (_when, answers) => {
  const { handlers, connection, end } = await connected(answers);
  handlers.onOpen.mockImplementation(() => void connection.subscribe('acct-1'));
  expect(await end).toEqual({ reason: 'unauthorized', detail: 'no such key' });
});

it('has a subscription in force by an answer without an id', async () => {
  const { handlers, connection } = await connected(welcome);
  await vi.waitFor(() => expect(handlers.onOpen).toHaveBeenCalledOnce());
  expect(await connection.subscribe('acct-1').result).toEqual({ kind: 'acknowledged' });
});

describe('issue: A venue lost its connection where the queue was full in the middle of its sign-in.', () => {
  it('reads the answer to its hello while it is paused', async () => {
    const { handlers, connection, send, said } = await connected(() => []);
    await vi.waitFor(() => expect(said).toHaveLength(1));
    connection.pause();
    send({ kind: 'signed_in' });
    await vi.waitFor(() => expect(handlers.onOpen).toHaveBeenCalledOnce());
  });
});

describe('issue: An account that left its process in the middle of its events left dead letters behind.', () => {
  it('an event that was on its way belongs to the account that was left', async () => {
    const { handlers, connection, send } = await connected(welcome);
    await vi.waitFor(() => expect(handlers.onOpen).toHaveBeenCalledOnce());
    await connection.subscribe('acct-1').result;
    connection.unsubscribe('acct-1');
    send(event);
    await vi.waitFor(() => expect(handlers.onEvent.mock.calls[0]?.[0]).toEqual({ ...event, accountId: 'acct-1' }));
    expect(handlers.onUnreadable).not.toHaveBeenCalled();
  });
});

it('gives an event without an account to the only one, and to none of two', async () => {
  const { handlers, connection, send } = await connected(welcome);
  await vi.waitFor(() => expect(handlers.onOpen).toHaveBeenCalledOnce());
  await connection.subscribe('acct-1').result;
  send(event);
  await vi.waitFor(() => expect(handlers.onEvent.mock.calls[0]?.[0]).toEqual({ ...event, accountId: 'acct-1' }));

  await connection.subscribe('acct-2').result;
  send(event);
  await vi.waitFor(() =>
    expect(handlers.onUnreadable.mock.calls[0]?.[0]).toMatchObject({
      reason: 'bad_target',
      detail: 'it names no account, and the connection has 2',
    }),
  );

  connection.unsubscribe('acct-2');
  send({ ...event, accountId: 'acct-9' });
  await vi.waitFor(() => expect(handlers.onEvent.mock.calls[1]?.[0]).toEqual({ ...event, accountId: 'acct-9' }));
  send(event);
  await vi.waitFor(() => expect(handlers.onEvent.mock.calls[2]?.[0]).toEqual({ ...event, accountId: 'acct-1' }));
});

describe('issue: An account stayed live after the venue had ended its subscription by itself.', () => {
  it('ends the connection, so that the account is subscribed and read again', async () => {
    const { handlers, connection, send, end } = await connected(welcome);
    await vi.waitFor(() => expect(handlers.onOpen).toHaveBeenCalledOnce());
    await connection.subscribe('acct-1').result;
    send({ kind: 'unsubscribed' });
    expect(await end).toEqual({ reason: 'unsubscribed', detail: 'the venue ended the subscription by itself' });
  });

  it('stays where it answers a request of ours, also behind the next subscription', async () => {
    const { handlers, connection, send } = await connected(welcome);
    await vi.waitFor(() => expect(handlers.onOpen).toHaveBeenCalledOnce());
    await connection.subscribe('acct-1').result;
    connection.unsubscribe('acct-1');
    const { result } = connection.subscribe('acct-1');
    send({ kind: 'unsubscribed' });
    expect(await result).toEqual({ kind: 'acknowledged' });
    expect(connection.isOpen).toBe(true);
  });
});

describe('issue: The venue said why it refused a subscription, and the status said "not answered".', () => {
  const error: Frame = { kind: 'error', code: 'STREAM_ERROR', message: 'not permitted' };

  it('ends with the words of an error that names no request', async () => {
    const { handlers, connection, end } = await connected((said) => (said === 'listen' ? [error] : welcome(said)));
    handlers.onOpen.mockImplementation(() => void connection.subscribe('acct-1'));
    const detail = 'subscribing acct-1 was not answered, like any other; an error came: not permitted';
    expect(await end).toEqual({ reason: 'ack_timeout', detail });
  });

  it('also where it answers the sign-in', async () => {
    const { end } = await connected(() => [error]);
    const detail = 'the sign-in was not answered within 300 ms; an error came: not permitted';
    expect(await end).toEqual({ reason: 'ack_timeout', detail });
  });
});
