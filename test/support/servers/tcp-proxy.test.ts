import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../runs/poll.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** A client of the proxy, and what it has seen. */
class Client {
  received = '';
  ended = false;
  closedBy: string | undefined;
  readonly socket: Socket;

  constructor(port: number) {
    this.socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => {
      this.received += text;
    });
    this.socket.on('end', () => {
      this.ended = true;
    });
    this.socket.on('error', (error: NodeJS.ErrnoException) => {
      this.closedBy = error.code;
    });
    this.socket.on('close', () => {
      this.closedBy ??= 'FIN';
    });
  }

  async gets(text: string): Promise<void> {
    await eventually(() => expect(this.received).toBe(text));
  }

  async isClosedBy(code: string): Promise<void> {
    await eventually(() => expect(this.closedBy).toBe(code));
  }
}

describe('the TCP proxy', () => {
  let server: Server;
  let proxy: TcpProxy;
  let atTarget: string;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    atTarget = '';
    // Answers each byte with itself.
    server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        atTarget += bytes.toString('latin1');
        socket.write(bytes);
      });
    });
    server.listen({ host: '127.0.0.1', port: 0 });
    await once(server, 'listening');
    proxy = await TcpProxy.start({ targetPort: (server.address() as AddressInfo).port });
  });

  afterEach(async () => {
    await proxy.stop();
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
  });

  function client(): Client {
    const made = new Client(proxy.port);
    sockets.push(made.socket);
    return made;
  }

  async function connected(): Promise<Client> {
    const made = client();
    made.socket.write('hello ');
    await made.gets('hello ');
    return made;
  }

  it('passes bytes both ways, and the end of the connection after them', async () => {
    const one = await connected();
    one.socket.end('world');
    await one.gets('hello world');
    await one.isClosedBy('FIN');
    await eventually(() => expect(proxy.open).toBe(0));
  });

  it('passes a megabyte unchanged to a reader that stops and goes on', async () => {
    const one = client();
    const sent = 'abcdefghij'.repeat(400_000);
    one.socket.pause();
    one.socket.write(sent);
    await eventually(() => expect(atTarget.length).toBeGreaterThan(0));
    one.socket.resume();
    await eventually(() => expect(one.received.length).toBe(sent.length));
    expect(one.received === sent).toBe(true);
  });

  it('delays without changing the order', async () => {
    const one = await connected();
    proxy.behave({ kind: 'delay', ms: 30 });
    for (const word of ['a', 'b', 'c', 'd']) one.socket.write(word);
    await one.gets('hello abcd');
  });

  it('holds what is sent and delivers all of it later', async () => {
    const one = await connected();
    proxy.behave({ kind: 'hold' }, 'toClient');
    one.socket.write('kept');
    await eventually(() => expect(atTarget).toBe('hello kept'));
    expect(one.received).toBe('hello ');
    proxy.behave({ kind: 'pass' });
    await one.gets('hello kept');
  });

  it('swallows the replies while the requests arrive', async () => {
    const one = await connected();
    proxy.behave({ kind: 'swallow' }, 'toClient');
    one.socket.write('request');
    await eventually(() => expect(atTarget).toBe('hello request'));
    expect(one.received).toBe('hello ');
    expect(one.closedBy).toBeUndefined();
  });

  it('resets a connection that lost bytes instead of going on behind the hole, and serves new ones', async () => {
    const one = await connected();
    proxy.behave({ kind: 'swallow' }, 'toClient');
    one.socket.write('request');
    await eventually(() => expect(atTarget).toBe('hello request'));
    // The reply may still be on its way to the proxy: another round shows that it has been lost.
    const other = client();
    other.socket.write('x');
    await eventually(() => expect(atTarget).toBe('hello requestx'));
    await eventually(() => {
      proxy.behave({ kind: 'pass' });
      expect(one.closedBy).toBe('ECONNRESET');
    });
    await connected();
  });

  it('goes half open: the client does not hear that the target is gone', async () => {
    const one = await connected();
    proxy.behave({ kind: 'swallow' });
    sockets.find((socket) => socket.localPort === (server.address() as AddressInfo).port)?.destroy();
    one.socket.write('into the void');
    const other = client();
    await eventually(() => expect(proxy.accepted).toBe(2));
    expect([one.closedBy, other.closedBy]).toEqual([undefined, undefined]);
  });

  it('cuts after a given number of bytes, by FIN', async () => {
    const one = await connected();
    proxy.behave({ kind: 'after', bytes: 3, ending: 'fin' }, 'toClient');
    one.socket.write('abcdef');
    await one.isClosedBy('FIN');
    expect(one.received).toBe('hello abc');
  });

  it('cuts after a given number of bytes, by reset', async () => {
    const one = await connected();
    proxy.behave({ kind: 'after', bytes: 3, ending: 'reset' }, 'toTarget');
    one.socket.write('abcdef');
    await one.isClosedBy('ECONNRESET');
    // A reset may overtake the bytes before it, as on any network.
    expect('hello abc'.startsWith(atTarget)).toBe(true);
  });

  it('loses everything after a given number of bytes', async () => {
    const one = await connected();
    proxy.behave({ kind: 'after', bytes: 3, ending: 'swallow' }, 'toClient');
    one.socket.write('abcdef');
    await one.gets('hello abc');
    one.socket.write('ghi');
    await eventually(() => expect(atTarget).toBe('hello abcdefghi'));
    expect(one.received).toBe('hello abc');
  });

  it('cuts open connections, by FIN or by reset', async () => {
    const one = await connected();
    proxy.cut('fin');
    await one.isClosedBy('FIN');
    const other = await connected();
    proxy.cut('reset');
    await other.isClosedBy('ECONNRESET');
  });

  it('flips a bit in every n-th byte', async () => {
    const one = await connected();
    proxy.behave({ kind: 'corrupt', everyBytes: 4 }, 'toTarget');
    one.socket.write('aaaaaaaaaa');
    await one.gets('hello aaaqaaaqaa');
  });

  it('dribbles', async () => {
    const one = await connected();
    proxy.behave({ kind: 'dribble', bytes: 1, everyMs: 5 });
    const chunks: string[] = [];
    one.socket.on('data', (text: string) => chunks.push(text));
    one.socket.write('drops');
    await one.gets('hello drops');
    expect(chunks.length).toBeGreaterThan(1);
  });

  it('refuses new connections, keeps the open ones, and takes new ones again on the same port', async () => {
    const one = await connected();
    await proxy.refuse();
    await client().isClosedBy('ECONNREFUSED');
    one.socket.write('still here');
    await one.gets('hello still here');
    await proxy.accept();
    await connected();
  });

  it('resets its client when the target does not listen', async () => {
    proxy.retarget(1);
    await client().isClosedBy('ECONNRESET');
  });
});
