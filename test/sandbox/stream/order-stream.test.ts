import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import {
  eventEnvelope,
  heartbeatMessage,
  streamErrorMessage,
  subscribedMessage,
} from '../../../src/venue/platform/wire/stream-messages.ts';
import { ask, askToken, control, controlLines, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';
import { PlatformStreamClient } from '../platform-stream-client.ts';

const mine = 'account:SIM-1001';

async function connected(input: Parameters<typeof runningSandbox>[0] = {}) {
  const sandbox = await runningSandbox(input);
  const client = await PlatformStreamClient.open(sandbox.description.stream, await signedIn(sandbox.description));
  return { sandbox, client, at: sandbox.description };
}

/** The status with which an upgrade is refused. */
async function refusal(url: string, headers: Record<string, string>): Promise<number> {
  const socket = new WebSocket(url, { headers });
  socket.on('error', () => {});
  const [, response] = (await once(socket, 'unexpected-response')) as [
    unknown,
    { statusCode: number; destroy(): void },
  ];
  response.destroy();
  return response.statusCode;
}

describe('the upgrade', () => {
  it('needs a good token in the header, never in the query', async () => {
    const { description: it } = await runningSandbox();
    const { authorization } = await signedIn(it);
    expect(await refusal(it.stream, {})).toBe(401);
    expect(await refusal(it.stream, { authorization: 'Bearer nonsense' })).toBe(401);
    expect(await refusal(`${it.stream}?access_token=${authorization.slice(7)}`, {})).toBe(401);
  });

  it('needs the scope order:information', async () => {
    const { description: it } = await runningSandbox();
    expect(await refusal(it.stream, await signedIn(it, 'account:information'))).toBe(403);
  });

  it('is for /v1/stream alone, and plain HTTP there finds nothing', async () => {
    const { description: it } = await runningSandbox();
    expect(await refusal(it.stream.replace('/v1/stream', '/v1/other'), await signedIn(it))).toBe(404);
    expect((await ask(it.stream.replace('ws:', 'http:'))).status).toBe(404);
  });

  it('offers no compression', async () => {
    const { description: it } = await runningSandbox();
    const socket = new WebSocket(it.stream, { headers: await signedIn(it), perMessageDeflate: true });
    await once(socket, 'open');
    expect(socket.extensions).toBe('');
    socket.terminate();
  });
});

describe('a subscription', () => {
  it.each(['account', 'prediction'])(
    'to %s is acknowledged before the first event, and brings the events of that account',
    async (topic) => {
      const { client, at } = await connected({ market: { rate: 2000 } });
      const answer = await client.ask('subscribe', topic, mine);
      expect(subscribedMessage.parse(answer.json)).toMatchObject({
        type: 'subscribed',
        payload: { topic, target: mine },
      });
      await eventually(() => expect(client.events().length).toBeGreaterThan(20));
      expect(client.messages[0]?.json.type).toBe('subscribed');
      for (const { json } of client.messages.filter((message) => message.json.type === 'event')) {
        const { payload } = eventEnvelope.parse(json);
        expect(payload).toMatchObject({
          topic,
          target: mine,
          name: topic === 'account' ? 'account.order' : 'prediction.order',
        });
      }
      expect(at.stagingStream).not.toBe(at.stream);
    },
  );

  it('works on both listeners', async () => {
    const { description: it } = await runningSandbox({ market: { rate: 500 } });
    const client = await PlatformStreamClient.open(it.stagingStream, await signedIn(it));
    await client.ask('subscribe', 'prediction', mine);
    await client.ask('subscribe', 'account', mine);
    await eventually(() => expect(new Set(client.messages.map(({ json }) => json.payload.topic)).size).toBe(2));
  });

  it('asked for twice brings each event once', async () => {
    const { client, at } = await connected();
    await client.ask('subscribe', 'prediction', mine);
    await client.ask('subscribe', 'prediction', mine);
    await control(at, '/orders', { stream: 'prediction', accountId: 'SIM-1001', accepted: false });
    await control(at, '/orders', { stream: 'prediction', accountId: 'SIM-1001', accepted: false });
    await eventually(() => expect(client.events()).toHaveLength(2));
    expect(new Set(client.events().map((event) => event.orderId)).size).toBe(2);
  });

  it('can be given up, which is acknowledged, and brings nothing afterwards', async () => {
    const { client, at } = await connected();
    await client.ask('subscribe', 'account', mine);
    const answer = await client.ask('unsubscribe', 'account', mine);
    expect(subscribedMessage.parse(answer.json).type).toBe('unsubscribed');
    await control(at, '/orders', { stream: 'account', accountId: 'SIM-1001' });
    await client.ask('unsubscribe', 'account', mine);
    expect(client.events()).toEqual([]);
  });

  it('several connections each get every event', async () => {
    const { sandbox, client, at } = await connected();
    const second = await PlatformStreamClient.open(at.stream, await signedIn(sandbox.description));
    for (const it of [client, second]) await it.ask('subscribe', 'account', mine);
    await control(at, '/orders', { stream: 'account', accountId: 'SIM-1001' });
    await eventually(() => expect([client.events().length, second.events().length]).toEqual([2, 2]));
    expect(client.events()).toEqual(second.events());
  });

  it.each([
    ["another's account", 'account', 'account:SIM-9001', 'FORBIDDEN'],
    ['an account that does not exist', 'account', 'account:SIM-0000', 'UNKNOWN_TARGET'],
    ['predictions of an account that is not enrolled', 'prediction', 'account:SIM-1002', 'FORBIDDEN'],
    ['an unknown topic', 'balances', mine, 'BAD_REQUEST'],
    ['a target that is no account', 'account', 'SIM-1001', 'BAD_REQUEST'],
    ['an empty account', 'account', 'account:', 'BAD_REQUEST'],
  ])('to %s is refused, and the connection stays', async (_what, topic, target, code) => {
    const { client } = await connected();
    const answer = await client.ask('subscribe', topic, target);
    expect(streamErrorMessage.parse(answer.json).payload.code).toBe(code);
    expect((await client.ask('subscribe', 'account', mine)).json.type).toBe('subscribed');
  });

  it.each([
    ['not JSON', 'subscribe please', undefined],
    ['an array', '[1]', undefined],
    ['null', 'null', undefined],
    ['without an id', '{"type":"subscribe"}', undefined],
    ['a number as id', '{"type":"subscribe","id":7}', undefined],
    ['an unknown type', '{"type":"replay","id":"x"}', 'x'],
    ['without a payload', '{"type":"subscribe","id":"x"}', 'x'],
  ])('a message that is %s gets BAD_REQUEST, with its id where there is one', async (_what, text, id) => {
    const { client } = await connected();
    client.socket.send(text);
    const answer = await client.message(({ json }) => json.type === 'error');
    expect(streamErrorMessage.parse(answer.json)).toMatchObject({ payload: { code: 'BAD_REQUEST' } });
    expect(answer.json.id).toBe(id);
    expect((await client.ask('subscribe', 'account', mine)).json.type).toBe('subscribed');
  });

  it('a binary message gets BAD_REQUEST', async () => {
    const { client } = await connected();
    client.socket.send(Buffer.from('{}'));
    await client.message(({ json }) => json.payload?.code === 'BAD_REQUEST');
  });
});

describe('a connection', () => {
  it('gets heartbeats and pings', async () => {
    // A pong that is later than this ends it: not so short that a busy machine is.
    const { client } = await connected({ stream: { heartbeatMs: 300 } });
    await eventually(() => {
      const beats = client.messages.filter(({ json }) => json.type === 'heartbeat');
      for (const { json } of beats) heartbeatMessage.parse(json);
      expect(beats.length).toBeGreaterThan(3);
      expect(client.pings).toBeGreaterThan(3);
    });
  });

  it('is cut when nobody answers its pings', async () => {
    const { sandbox, client } = await connected({ stream: { heartbeatMs: 30 } });
    client.socket.pause();
    await eventually(async () => {
      const lines = await controlLines(sandbox.description, '/ledger?kind=session');
      expect(lines.some((line) => line.what === 'closed')).toBe(true);
    });
  });

  it('ends with 4401 when its token is revoked', async () => {
    const { client, at } = await connected();
    await control(at, '/faults', { now: [{ action: 'revoke_tokens' }] });
    expect((await client.ended()).code).toBe(4401);
  });

  it('ends with 4401 when its token expires', async () => {
    // On a slow machine the token may be over before the connection is there.
    const connectedOf = (lifetimeSeconds: number) => connected({ tokens: { lifetimeSeconds } });
    const { client } = await connectedOf(1).catch(() => connectedOf(5).catch(() => connectedOf(25)));
    expect((await client.ended()).code).toBe(4401);
  });

  it('ends with 4429 after an error when it reads too slowly', async () => {
    const { client, at, sandbox } = await connected({ stream: { maxBacklogBytes: 200_000, closeGraceMs: 60_000 } });
    await client.ask('subscribe', 'account', mine);
    await client.ask('subscribe', 'prediction', mine);
    client.socket.pause();
    // More than the kernel's buffers on both sides hold.
    await control(at, '/burst', { count: 40_000 });
    await eventually(() => expect(sandbox.controls.status()).toMatchObject({ changes: 40_000 }));
    client.socket.resume();
    await client.message(({ json }) => json.type === 'error' && json.payload.code === 'SLOW_CONSUMER');
    expect((await client.ended()).code).toBe(4429);
  });

  it.each([1012, 4403])('ends with %d on request', async (code) => {
    const { client, at } = await connected();
    await control(at, '/faults', { now: [{ action: 'close', code }] });
    expect((await client.ended()).code).toBe(code);
  });

  it('ends with 1001 when the platform goes away', async () => {
    const { client, sandbox } = await connected();
    await sandbox.stop();
    expect((await client.ended()).code).toBe(1001);
  });

  it('ends when it sends more than 64 KiB in a message', async () => {
    const { client } = await connected();
    client.socket.send('x'.repeat(64 * 1024 + 1));
    expect((await client.ended()).code).toBe(1009);
  });
});

it('a half-spoken upgrade keeps nobody from stopping', async () => {
  const sandbox = await runningSandbox();
  const url = new URL(sandbox.description.platform);
  const socket = connect(Number(url.port), url.hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write('GET /v1/stream HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n');
  await sandbox.stop();
  socket.destroy();
});

it('every subscriber sees, per order, exactly the states that the ledger holds, in their order', async () => {
  const { client, at, sandbox } = await connected({ market: { rate: 5000, openOrders: 50 } });
  await client.ask('subscribe', 'prediction', mine);
  await client.ask('subscribe', 'account', mine);
  await eventually(() => expect(client.events().length).toBeGreaterThan(2000));
  await control(at, '/rate', { rate: 0 });
  const lines = await controlLines(at, '/ledger?kind=change,event');
  const changes = new Map(lines.filter((line) => line.kind === 'change').map((line) => [line.seq, line]));
  const sent = lines.filter((line) => line.kind === 'event').map((line) => changes.get(line.change));
  expect(lines.filter((line) => line.kind === 'event').every((line) => line.result === 'sent')).toBe(true);
  await eventually(() => expect(client.events()).toHaveLength(sent.length));
  expect(client.events()).toEqual(sent.map((line) => line.order));
  expect(sandbox.parts.ledger.lastSeq).toBeGreaterThan(lines.length);
  expect((await askToken(at)).status).toBe(200);
});
