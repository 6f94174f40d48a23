import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { streamCloseCodes } from '../../venue/platform/wire/stream-messages.ts';
import type { Principal } from '../auth/directory.ts';
import type { UpgradeFault } from '../faults/fault-shapes.ts';
import { maskSecrets } from '../ledger/ledger.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { type SessionManner, type SessionOptions, StreamSession } from './stream-session.ts';

const maxMessageBytes = 64 * 1024;
const noSuchPath = '{"error":{"type":"not_found","code":"NOT_FOUND","message":"No such path"}}';

interface Unadmitted {
  readonly status: number;
  readonly body: string;
  readonly token?: string | undefined;
}

/** One venue's way over its sockets: who may connect, and what messages mean. */
export interface StreamProtocol extends SessionManner {
  readonly path: string;
  /** Who connects, or the answer that refuses it. */
  admit(request: IncomingMessage): Promise<Principal | Unadmitted>;
  /** Carries out one client message, and answers it. */
  answer(session: StreamSession, data: Buffer, isBinary: boolean): void;
}

/**
 * Every listener's order stream: upgrades, sessions, and their end. `Subscriptions` has the
 * accounts that each connection follows.
 *
 * Invariant: a session exists only for an admitted caller; it ends when the caller's token does.
 */
export class StreamServer {
  private readonly server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
  });
  private readonly pending = new Set<Socket>();
  private sessionCount = 0;
  private readonly parts: SandboxParts;
  private readonly protocol: StreamProtocol;
  private readonly options: SessionOptions;

  constructor(parts: SandboxParts, protocol: StreamProtocol, options: SessionOptions) {
    this.parts = parts;
    this.protocol = protocol;
    this.options = options;
    this.parts.tokens.onRevoked((tokenId) => {
      for (const session of this.parts.subscriptions.sessions)
        if (session.principal.tokenId === tokenId) session.endWithToken('token revoked');
    });
  }

  /** Serves the stream on one more listener. */
  attach(http: Server, listener: string): void {
    http.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      this.pending.add(socket);
      socket.once('close', () => this.pending.delete(socket));
      this.upgrade(listener, request, socket, head).catch((error: unknown) => {
        this.parts.log.error({ err: error }, 'sandbox: an upgrade failed');
        socket.destroy();
      });
    });
  }

  /**
   * Says goodbye to everybody, and after `graceMs` cuts those without an answer. Resolves when no
   * connection is left.
   */
  async stop(graceMs: number): Promise<void> {
    for (const session of this.parts.subscriptions.sessions) session.close(streamCloseCodes.goingAway, 'going away');
    for (const socket of this.pending) socket.destroy();
    const closed = [...this.server.clients].map((client) => new Promise((resolve) => client.once('close', resolve)));
    await Promise.race([Promise.all(closed), this.parts.clock.sleep(graceMs)]);
    for (const client of this.server.clients) client.terminate();
  }

  private async upgrade(listener: string, request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    if ((request.url ?? '').split('?')[0] !== this.protocol.path) {
      refuseUpgrade(socket, 404, noSuchPath);
      return;
    }
    const fault = this.parts.faults.forUpgrade();
    const caller = await this.protocol.admit(request);
    if (fault !== undefined) this.meet(fault, listener, socket);
    else if ('status' in caller) this.refuse(listener, socket, caller);
    else {
      this.pending.delete(socket);
      this.server.handleUpgrade(request, socket, head, (ws) =>
        this.listen(this.open(listener, caller, ws, socket), ws),
      );
    }
  }

  private listen(session: StreamSession, ws: WebSocket): void {
    ws.on('message', (data: Buffer, isBinary) => {
      if (!session.open) return;
      const text = maskSecrets(data.toString('utf8'));
      this.parts.ledger.enter('session', { session: session.number, what: 'message', bytes: data.length, text });
      this.protocol.answer(session, data, isBinary);
    });
  }

  private open(listener: string, principal: Principal, ws: WebSocket, socket: Socket): StreamSession {
    this.sessionCount += 1;
    const { clock, ledger, subscriptions, eventFaults } = this.parts;
    const onClosed = (session: StreamSession) => {
      subscriptions.removeAll(session);
      eventFaults.forget(session);
      ledger.enter('session', { session: session.number, what: 'closed' });
    };
    const session = new StreamSession(
      this.sessionCount,
      { clock, ws, socket, principal, manner: this.protocol, onClosed },
      this.options,
    );
    subscriptions.sessions.add(session);
    const { clientId, tokenId } = principal;
    ledger.enter('session', { session: session.number, what: 'opened', listener, clientId, tokenId });
    return session;
  }

  private refuse(listener: string, socket: Socket, { status, body, token }: Unadmitted): void {
    const refusedToken = token === undefined ? undefined : this.parts.tokens.idOf(token);
    this.parts.ledger.enter('session', { what: 'upgrade_refused', listener, status, refusedToken });
    refuseUpgrade(socket, status, body);
  }

  private meet(fault: UpgradeFault, listener: string, socket: Socket): void {
    this.parts.ledger.enter('session', { what: 'upgrade_refused', listener, fault });
    if (fault === 'hang') this.parts.hanging.add(socket);
    else if (fault === 'reset') socket.resetAndDestroy();
    else if (fault === 'html')
      refuseUpgrade(socket, 502, '<html><body><h1>Bad Gateway</h1></body></html>', 'text/html');
    else refuseUpgrade(socket, Number(fault.slice('status_'.length)), '{"error":"Not now"}');
  }
}

/** Answers an upgrade with plain HTTP and ends the connection. */
function refuseUpgrade(socket: Duplex, status: number, body: string, type = 'application/json'): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`,
    'connection: close',
    `content-type: ${type}`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...(status === 401 ? ['www-authenticate: Bearer'] : []),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
