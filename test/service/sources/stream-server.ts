import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket as NetSocket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

interface StreamServer {
  readonly url: string;
  /** Bearer tokens of the upgrades, in order. */
  readonly tokens: string[];
  /** Extensions that clients offered. */
  readonly extensions: (string | undefined)[];
  close(): Promise<void>;
}

export interface StreamScript {
  /** A client is connected: `raw` is the socket under it. */
  readonly onClient?: (client: WebSocket, raw: NetSocket, count: number) => void;
  /** Answers the upgrade in place of a WebSocket, when it returns text. */
  readonly refuse?: (count: number) => string | undefined;
}

/** A real WebSocket server on loopback that behaves as the test says. */
export async function streamServer(script: StreamScript): Promise<StreamServer> {
  const tokens: string[] = [];
  const extensions: (string | undefined)[] = [];
  const server: Server = createServer((_, response) => response.end('<html>hello</html>'));
  const sockets = new WebSocketServer({ noServer: true, autoPong: true });
  server.on('upgrade', (request, raw, head) => {
    tokens.push((request.headers.authorization ?? '').replace('Bearer ', ''));
    extensions.push(request.headers['sec-websocket-extensions']);
    raw.on('error', () => undefined);
    const refusal = script.refuse?.(tokens.length);
    if (refusal !== undefined) {
      raw.end(refusal);
      return;
    }
    sockets.handleUpgrade(request, raw, head, (client) => {
      client.on('error', () => undefined);
      script.onClient?.(client, raw as NetSocket, tokens.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/v1/stream`,
    tokens,
    extensions,
    close: () =>
      new Promise((resolve) => {
        for (const client of sockets.clients) client.terminate();
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Answers every subscription, as the platform does. */
export function acknowledge(client: WebSocket): void {
  client.on('message', (data) => {
    const { id, type, payload } = JSON.parse(String(data)) as { id: string; type: string; payload: unknown };
    client.send(JSON.stringify({ type: `${type}d`, id, timestamp: '2026-11-21T14:30:00Z', payload }));
  });
}
