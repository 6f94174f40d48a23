import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Client } from 'pg';

const ready = 'Z'.charCodeAt(0);
const sync = 'S'.charCodeAt(0);
const query = 'Q'.charCodeAt(0);
const terminate = 'X'.charCodeAt(0);
const idle = 'I'.charCodeAt(0);

/**
 * Cuts a stream of the protocol into whole messages, which start with a letter and their length.
 */
function messagesOf(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const length = rest.readInt32BE(1) + 1;
      onMessage(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  };
}

interface Backend {
  readonly socket: Socket;
  onMessage: (message: Buffer) => void;
}

/**
 * A pooler in transaction mode, as PgBouncer is one: each client gets, for each
 * transaction, the server session that was used last and is free, and a new one where
 * none is. It knows no passwords, drops all startup parameters, and serves what our
 * client sends: no TLS, no COPY, no cancel.
 */
export class TransactionPooler implements AsyncDisposable {
  readonly port: number;
  private readonly free: Backend[] = [];
  private readonly opened: Client[] = [];
  private readonly clients = new Set<Socket>();
  private readonly server: Server;
  private readonly url: string;

  private constructor(server: Server, url: string) {
    this.server = server;
    this.url = url;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (socket) => this.serve(socket));
  }

  /** `url`: of the database, with a login and its password. */
  static async start(url: string): Promise<TransactionPooler> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TransactionPooler(server, url);
  }

  private serve(client: Socket): void {
    this.clients.add(client);
    client.on('error', () => client.destroy());
    client.on('close', () => this.clients.delete(client));
    client.once('data', () => {
      // Authentication is done, the client's process and key, ready.
      client.write(Buffer.from('520000000800000000' + '4b0000000c0000000100000001' + '5a0000000549', 'hex'));
      let turn: Buffer[] = [];
      let last: Promise<void> = Promise.resolve();
      const take = messagesOf((message) => {
        if (message[0] === terminate) return void client.end();
        turn.push(message);
        if (message[0] !== sync && message[0] !== query) return;
        const whole = Buffer.concat(turn);
        turn = [];
        last = last.then(() => transact(whole));
      });
      client.on('data', take);
      let held: Backend | undefined;
      const transact = async (whole: Buffer) => {
        held ??= this.free.pop() ?? (await this.open());
        const backend = held;
        await new Promise<void>((resolve) => {
          backend.onMessage = (message) => {
            client.write(message);
            if (message[0] !== ready) return;
            if (message[5] === idle) {
              held = undefined;
              this.free.push(backend);
            }
            resolve();
          };
          backend.socket.write(whole);
        });
      };
    });
  }

  /** pg signs in; after that the bytes are ours. */
  private async open(): Promise<Backend> {
    const client = new Client({ connectionString: this.url, connectionTimeoutMillis: 10_000 });
    client.on('error', () => undefined);
    await client.connect();
    this.opened.push(client);
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
    stream.removeAllListeners('data');
    const backend: Backend = { socket: stream, onMessage: () => undefined };
    stream.on(
      'data',
      messagesOf((message) => backend.onMessage(message)),
    );
    return backend;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.clients) client.destroy();
    this.server.close();
    await Promise.all(this.opened.map((client) => client.end()));
  }
}
