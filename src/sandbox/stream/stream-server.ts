import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { streamCloseCodes, streamPath } from '../../platform/wire/stream-messages.ts';
import type { Principal } from '../auth/directory.ts';
import { jsonText } from '../exchange/wire-text.ts';
import type { UpgradeFault } from '../faults/fault-shapes.ts';
import { bearerToken } from '../rest/require-scope.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { answerClient } from './answer-client.ts';
import { readClientMessage } from './client-message.ts';
import type { EventFaults } from './event-faults.ts';
import { refuseUpgrade } from './refuse-upgrade.ts';
import { type SessionOptions, StreamSession } from './stream-session.ts';
import type { Subscriptions } from './subscriptions.ts';

const maxMessageBytes = 64 * 1024;
const noSuchPath = '{"error":{"type":"not_found","code":"NOT_FOUND","message":"No such path"}}';
const unauthenticated =
  '{"error":{"type":"authentication","code":"UNAUTHENTICATED","message":"The access token is missing, expired or revoked"}}';
const forbidden = '{"error":{"type":"forbidden","code":"FORBIDDEN","message":"The token lacks the scope order:information"}}';

/**
 * The order stream of every listener: upgrades, sessions, and their end. `Subscriptions` has the accounts that each connection follows.
 *
 * Invariant: a session exists only for a token that was good at the upgrade; it ends when the token does.
 */
export class StreamServer {
  private readonly server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: maxMessageBytes });
  private readonly pending = new Set<Socket>();
  private sessionCount = 0;
  private readonly parts: SandboxParts;
  private readonly subscriptions: Subscriptions;
  private readonly eventFaults: EventFaults;
  private readonly options: SessionOptions;

  constructor(deps: { parts: SandboxParts; subscriptions: Subscriptions; eventFaults: EventFaults }, options: SessionOptions) {
    this.parts = deps.parts;
    this.subscriptions = deps.subscriptions;
    this.eventFaults = deps.eventFaults;
    this.options = options;
    this.parts.tokens.onRevoked((tokenId) => {
      for (const session of this.subscriptions.sessions)
        if (session.principal.tokenId === tokenId) session.close(streamCloseCodes.unauthorized, 'token revoked');
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

  /** Says goodbye to everybody, and cuts who has not answered after `graceMs`. Resolves when no connection is left. */
  async stop(graceMs: number): Promise<void> {
    for (const session of this.subscriptions.sessions) session.close(streamCloseCodes.goingAway, 'going away');
    for (const socket of this.pending) socket.destroy();
    const closed = [...this.server.clients].map((client) => new Promise((resolve) => client.once('close', resolve)));
    await Promise.race([Promise.all(closed), this.parts.clock.sleep(graceMs)]);
    for (const client of this.server.clients) client.terminate();
  }

  private async upgrade(listener: string, request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    if ((request.url ?? '').split('?')[0] !== streamPath) {
      refuseUpgrade(socket, 404, noSuchPath);
      return;
    }
    const fault = this.parts.faults.forUpgrade();
    const token = bearerToken(request.headers.authorization);
    const principal = token === undefined ? undefined : await this.parts.tokens.check(token);
    if (fault !== undefined) this.meet(fault, listener, socket);
    else if (principal === undefined) this.refuse(listener, socket, 401, unauthenticated);
    else if (!principal.scopes.has('order:information')) this.refuse(listener, socket, 403, forbidden);
    else {
      this.pending.delete(socket);
      this.server.handleUpgrade(request, socket, head, (ws) => this.listen(this.open(listener, principal, ws, socket), ws));
    }
  }

  private listen(session: StreamSession, ws: WebSocket): void {
    ws.on('message', (data: Buffer, isBinary) => {
      if (!session.open) return;
      const text = JSON.stringify(data.toString('utf8'));
      this.parts.ledger.enter('session', `,"session":${session.number},"what":"message","bytes":${data.length},"text":${text}`);
      answerClient(this.parts, this.subscriptions, this.eventFaults, session, readClientMessage(data, isBinary));
    });
  }

  private open(listener: string, principal: Principal, ws: WebSocket, socket: Socket): StreamSession {
    this.sessionCount += 1;
    const { clock, ledger } = this.parts;
    const onClosed = (session: StreamSession) => {
      this.subscriptions.removeAll(session);
      this.eventFaults.forget(session);
      ledger.enter('session', `,"session":${session.number},"what":"closed"`);
    };
    const session = new StreamSession(this.sessionCount, { clock, ws, socket, principal, onClosed }, this.options);
    this.subscriptions.sessions.add(session);
    ledger.enter(
      'session',
      `,"session":${session.number},"what":"opened","listener":"${listener}","clientId":${jsonText(principal.clientId)},"tokenId":"${principal.tokenId}"`,
    );
    return session;
  }

  private refuse(listener: string, socket: Socket, status: number, body: string): void {
    this.parts.ledger.enter('session', `,"what":"upgrade_refused","listener":"${listener}","status":${status}`);
    refuseUpgrade(socket, status, body);
  }

  private meet(fault: UpgradeFault, listener: string, socket: Socket): void {
    this.parts.ledger.enter('session', `,"what":"upgrade_refused","listener":"${listener}","fault":"${fault}"`);
    if (fault === 'hang') this.parts.hanging.add(socket);
    else if (fault === 'reset') socket.resetAndDestroy();
    else if (fault === 'html') refuseUpgrade(socket, 502, '<html><body><h1>Bad Gateway</h1></body></html>', 'text/html');
    else refuseUpgrade(socket, Number(fault.slice('status_'.length)), '{"error":"Not now"}');
  }
}
