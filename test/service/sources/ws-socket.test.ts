import { createServer, type Socket as NetSocket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { Socket, SocketEnd } from '../../../src/service/sources/socket.ts';
import { type WsSocketOptions, wsSocketDefaults, wsSocketFactory } from '../../../src/service/sources/ws-socket.ts';
import { eventually } from '../../support/runs/poll.ts';
import { type StreamScript, streamServer } from './stream-server.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

interface Opened {
  readonly socket: Socket;
  readonly frames: string[];
  readonly pongs: string[];
  readonly ends: SocketEnd[];
  readonly opens: true[];
  end(): Promise<SocketEnd>;
}

function open(url: string, options: Partial<WsSocketOptions> = {}): Opened {
  const frames: string[] = [];
  const pongs: string[] = [];
  const ends: SocketEnd[] = [];
  const opened: Opened = {
    frames,
    pongs,
    ends,
    opens: [],
    socket: wsSocketFactory(systemClock, { ...wsSocketDefaults, ...options })(url, new Secret('t1'), {
      onOpen: () => opened.opens.push(true),
      onFrame: (text) => frames.push(text),
      onPong: (payload) => pongs.push(payload),
      onEnd: (end) => ends.push(end),
    }),
    end: () =>
      eventually(() => {
        const [end] = ends;
        if (end === undefined) throw new Error('it has not ended');
        return end;
      }),
  };
  closers.push(() => opened.socket.terminate());
  return opened;
}

async function against(script: StreamScript, options: Partial<WsSocketOptions> = {}) {
  const server = await streamServer(script);
  closers.push(server.close);
  return { server, ...open(server.url, options) };
}

/** A frame as bytes (RFC 6455, section 5.2), unmasked as a server sends it. */
function frame(opcode: number, payload: Buffer, final = true): Buffer {
  const first = (final ? 0x80 : 0) | opcode;
  if (payload.length < 126) return Buffer.concat([Buffer.from([first, payload.length]), payload]);
  const head = Buffer.alloc(10);
  head[0] = first;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
}

describe('a socket', () => {
  it('sends the token in the header only, offers no compression, and hands over text', async () => {
    const { server, frames, end, socket } = await against({
      onClient: (client) => {
        client.send('{"a":"é"}');
        client.on('message', (data) => client.send(`back ${data}`));
      },
    });
    await eventually(() => expect(frames).toEqual(['{"a":"é"}']));
    socket.send('hello');
    await eventually(() => expect(frames).toHaveLength(2));
    expect(server.tokens).toEqual(['t1']);
    expect(server.extensions).toEqual([undefined]);
    expect(server.url).not.toContain('t1');
    expect(socket.bytesReceived()).toBeGreaterThan(10);
    socket.close();
    expect(await end()).toEqual({ kind: 'closed', code: 1000, reason: '' });
  });

  it('hands a pong over with its payload, and behind every message that was sent before it, also over a pause', async () => {
    let flood = () => {};
    const { frames, pongs, opens, socket } = await against({
      onClient: (client) => {
        flood = () => {
          for (let i = 0; i < 2_000; i += 1) client.send(`{"i":${i},"fill":"${'x'.repeat(500)}"}`);
        };
      },
    });
    await eventually(() => expect(opens).toHaveLength(1));
    socket.pause();
    flood();
    socket.ping('first 1');
    socket.ping('second 2');
    expect(pongs).toEqual([]);
    socket.resume();
    const seen: number[] = [];
    await eventually(() => {
      if (pongs.length > seen.length) seen.push(frames.length);
      expect(pongs).toEqual(['first 1', 'second 2']);
    });
    expect(seen[0]).toBe(2_000);
  });

  it.each<[string, (raw: NetSocket) => void, string]>([
    ['a binary message that is no text', (raw) => raw.write(frame(2, Buffer.of(0xff, 0xfe))), 'binary'],
    ['text that is not UTF-8', (raw) => raw.write(frame(1, Buffer.from([0x22, 0xc3, 0x28, 0x22]))), 'bad_utf8'],
    ['a message of 64 KiB and one byte', (raw) => raw.write(frame(1, Buffer.alloc(65_537, 0x20))), 'oversize'],
    [
      'fragments that add up to more',
      (raw) => {
        for (let i = 0; i < 3; i += 1) raw.write(frame(i === 0 ? 1 : 0, Buffer.alloc(30_000, 0x20), false));
      },
      'oversize',
    ],
    [
      'fragments without end',
      (raw) => {
        for (let i = 0; i < 70; i += 1) raw.write(frame(i === 0 ? 1 : 0, Buffer.from('x'), false));
      },
      'protocol',
    ],
    [
      'a compressed message',
      (raw) => raw.write(Buffer.concat([Buffer.from([0xc1, 3]), Buffer.from('abc')])),
      'protocol',
    ],
    ['a reserved opcode', (raw) => raw.write(frame(3, Buffer.from('x'))), 'protocol'],
    ['a masked frame', (raw) => raw.write(Buffer.from([0x81, 0x80, 0, 0, 0, 0])), 'protocol'],
    [
      'a flood of pings',
      (raw) => {
        for (let i = 0; i < 200; i += 1) raw.write(frame(9, Buffer.from('x')));
      },
      'ping_flood',
    ],
  ])('ends on %s', async (_, misbehave, code) => {
    const { end, ends, frames } = await against({ onClient: (_client, raw) => misbehave(raw) });
    expect(await end()).toMatchObject({ kind: 'failed', code });
    expect([ends.length, frames.length]).toEqual([1, 0]);
  });

  it('takes a message of exactly 64 KiB, and one in fragments', async () => {
    const { frames } = await against({
      onClient: (_, raw) => {
        raw.write(frame(1, Buffer.alloc(65_536, 0x20)));
        raw.write(frame(1, Buffer.from('{"a"'), false));
        raw.write(frame(9, Buffer.from('between')));
        raw.write(frame(0, Buffer.from(':1}')));
      },
    });
    await eventually(() => expect(frames.map(({ length }) => length)).toEqual([65_536, 7]));
    expect(frames[1]).toBe('{"a":1}');
  });

  it('tells which close code the platform chose', async () => {
    const { end } = await against({ onClient: (client) => client.close(4401, 'token expired') });
    expect(await end()).toEqual({ kind: 'closed', code: 4401, reason: 'token expired' });
  });

  it('tells of a connection that was cut without a goodbye, also in the middle of a frame', async () => {
    const cut = await against({ onClient: (_, raw) => raw.destroy() });
    expect(await cut.end()).toMatchObject({ kind: 'closed', code: 1006 });
    const torn = await against({ onClient: (_, raw) => raw.end(frame(1, Buffer.alloc(100, 0x20)).subarray(0, 50)) });
    expect(await torn.end()).toMatchObject({ kind: 'closed', code: 1006 });
    expect(torn.frames).toEqual([]);
  });

  it.each([
    [
      'HTML',
      'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>',
      { kind: 'refused', status: 200 },
    ],
    ['401', 'HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n', { kind: 'refused', status: 401 }],
    [
      'a redirect',
      'HTTP/1.1 302 Found\r\nlocation: ws://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n',
      { kind: 'refused', status: 302 },
    ],
    [
      'an upgrade to something else',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n',
      { kind: 'failed', code: 'protocol' },
    ],
    ['something that is not HTTP', 'nonsense\r\n\r\n', { kind: 'failed', code: 'protocol' }],
  ])('is refused when the upgrade is answered with %s', async (_, answer, expected) => {
    const { end, opens } = await against({ refuse: () => answer });
    expect(await end()).toMatchObject(expected);
    expect(opens).toEqual([]);
  });

  it('gives up where nobody listens, and where nobody answers', async () => {
    expect(await open('ws://127.0.0.1:1/').end()).toMatchObject({ kind: 'failed', code: 'connect' });
    const deaf = createServer();
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
    closers.push(() => deaf.close());
    const { port } = deaf.address() as { port: number };
    expect(await open(`ws://127.0.0.1:${port}/`, { openMs: 100 }).end()).toMatchObject({
      kind: 'failed',
      code: 'timeout',
    });
  });

  it('stops reading while it is paused, and goes on without loss', async () => {
    const clients: WebSocket[] = [];
    const { frames, socket } = await against({
      onClient: (client) => {
        clients.push(client);
        client.send('first');
      },
    });
    await eventually(() => expect(frames).toEqual(['first']));
    socket.pause();
    for (let i = 0; i < 1_000; i += 1) clients[0]?.send(`{"n":${i},"pad":"${'x'.repeat(30_000)}"}`);
    // 30 MB: far more than the kernel takes on both sides, so the rest waits with the sender.
    await eventually(() => expect(clients[0]?.bufferedAmount).toBeLessThan(29_000_000));
    expect(clients[0]?.bufferedAmount).toBeGreaterThan(1_000_000);
    expect(frames.length).toBeLessThan(900);
    socket.resume();
    await eventually(() => expect(frames).toHaveLength(1_001));
  });

  it('ends within two seconds when the peer does not answer the goodbye', async () => {
    const { end, socket, frames } = await against(
      {
        onClient: (client) => {
          client.send('hello');
          client.pause();
        },
      },
      { closeMs: 100 },
    );
    await eventually(() => expect(frames).toHaveLength(1));
    socket.close();
    expect(await end()).toMatchObject({ kind: 'closed', code: 1006 });
  });

  it('takes text in a binary message as text', async () => {
    const { frames } = await against({ onClient: (client) => client.send(Buffer.from('{"é":1}')) });
    await eventually(() => expect(frames).toEqual(['{"é":1}']));
  });

  it('delivers nothing after it was terminated', async () => {
    const { frames, socket, end, ends } = await against({
      onClient: (client) => {
        for (let i = 0; i < 1_000; i += 1) client.send('x');
      },
    });
    await eventually(() => expect(frames.length).toBeGreaterThan(0));
    socket.terminate();
    const delivered = frames.length;
    await end();
    expect([frames.length, ends.length]).toEqual([delivered, 1]);
  });
});
