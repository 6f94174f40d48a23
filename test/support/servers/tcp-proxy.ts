import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { systemClock } from '../../../src/runtime/clock.ts';
import { type Behaviour, type Cut, TcpPipe } from './tcp-pipe.ts';

/** `toTarget`: what clients send. `toClient`: what the target answers. */
type Direction = 'toTarget' | 'toClient';

interface Connection {
  readonly pipes: Record<Direction, TcpPipe>;
  cut(how: Cut): void;
}

/**
 * A TCP proxy on a port of its own that does to connections what networks do. What it does is
 * switched while it runs, for the connections that are open and those that come.
 *
 * States: accepting ⇄ refusing (`refuse`, `accept`: same port), then stopped.
 */
export class TcpProxy implements AsyncDisposable {
  /** The port of 127.0.0.1 on which it listens; it stays the same. */
  readonly port: number;
  /** How many connections have been accepted since the start. */
  accepted = 0;
  /** Told of all that clients send, chunk by chunk, as it comes; `connection` counts them. */
  tap: (chunk: Buffer, connection: number) => void = () => undefined;
  private server: Server;
  private targetPort: number;
  private readonly connections = new Set<Connection>();
  private readonly behaviours: Record<Direction, Behaviour> = {
    toTarget: { kind: 'pass' },
    toClient: { kind: 'pass' },
  };

  private constructor(server: Server, targetPort: number) {
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
    this.targetPort = targetPort;
    server.on('connection', (client) => this.join(client));
  }

  static async start(options: { readonly targetPort: number }): Promise<TcpProxy> {
    return new TcpProxy(await listen(0), options.targetPort);
  }

  /** As `127.0.0.1:1234`. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.connections.size;
  }

  /** Changes what happens to the bytes: of both directions, or of one. */
  behave(behaviour: Behaviour, direction?: Direction): void {
    for (const way of ['toTarget', 'toClient'] as const) {
      if (direction !== undefined && direction !== way) continue;
      this.behaviours[way] = behaviour;
      for (const connection of [...this.connections]) connection.pipes[way].behave(behaviour);
    }
  }

  /** Cuts the connections that are open, on both sides. */
  cut(how: Cut): void {
    for (const connection of [...this.connections]) connection.cut(how);
  }

  /** From now on connecting fails with ECONNREFUSED; open connections stay. */
  async refuse(): Promise<void> {
    if (!this.server.listening) return;
    // Not awaited until 'close': that comes only after the last open connection.
    this.server.close();
  }

  /** Listens again, on the same port. */
  async accept(): Promise<void> {
    if (this.server.listening) return;
    this.server = await listen(this.port);
    this.server.on('connection', (client) => this.join(client));
  }

  /** Connections that come go to another port of 127.0.0.1. */
  retarget(targetPort: number): void {
    this.targetPort = targetPort;
  }

  async stop(): Promise<void> {
    await this.refuse();
    this.cut('reset');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  private join(client: Socket): void {
    this.accepted += 1;
    const { accepted: number } = this;
    client.on('data', (chunk: Buffer) => this.tap(chunk, number));
    const target = connect({ host: '127.0.0.1', port: this.targetPort, allowHalfOpen: true, noDelay: true });
    const sockets = [client, target];
    const cut = (how: Cut) => {
      for (const socket of sockets) how === 'reset' ? socket.resetAndDestroy() : socket.destroySoon();
    };
    const pipe = (from: Socket, to: Socket, way: Direction) =>
      new TcpPipe({ clock: systemClock, from, to, cut }, this.behaviours[way]);
    const connection: Connection = {
      pipes: { toTarget: pipe(client, target, 'toTarget'), toClient: pipe(target, client, 'toClient') },
      cut,
    };
    this.connections.add(connection);
    for (const socket of sockets) {
      // The pipes see the 'close' that follows.
      socket.on('error', () => undefined);
      socket.on('close', () => {
        if (sockets.every(({ closed }) => closed)) this.connections.delete(connection);
      });
    }
  }
}

async function listen(port: number): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  server.listen({ host: '127.0.0.1', port });
  await once(server, 'listening');
  return server;
}
