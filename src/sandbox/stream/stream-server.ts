import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { accountTarget, streamCloseCodes, streamPath } from '../../venue/platform/wire/stream-messages.ts';
import type { Principal } from '../auth/directory.ts';
import { jsonText } from '../exchange/wire-text.ts';
import type { UpgradeFault } from '../faults/fault-shapes.ts';
import { bearerToken } from '../rest/require-scope.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { type ClientMessage, readClientMessage } from './client-message.ts';
import type { EventFaults } from './event-faults.ts';
import { type SessionOptions, StreamSession, type Subscriptions } from './stream-session.ts';

type Subscription = Exclude<ClientMessage, { type: 'bad' }>;

const lateAckMs = 3000;

/**
 * Carries out one client message, and answers it (docs/platform-assumptions.md, "Order stream").
 */
function answerClient(
  parts: SandboxParts,
  subscriptions: Subscriptions,
  eventFaults: EventFaults,
  session: StreamSession,
  message: ClientMessage,
): void {
  const refusal = message.type === 'bad' ? bad(message.message) : refusalOf(parts, session, message);
  if (refusal !== undefined) refuse(parts, session, message.id, refusal);
  else if (message.type === 'unsubscribe') {
    subscriptions.remove(session, message.topic, message.accountId);
    acknowledge(parts, session, message);
  } else if (message.type === 'subscribe') subscribe(parts, subscriptions, eventFaults, session, message);
}

interface Refusal {
  readonly code: 'FORBIDDEN' | 'UNKNOWN_TARGET' | 'BAD_REQUEST';
  readonly message: string;
}

const bad = (message: string): Refusal => ({ code: 'BAD_REQUEST', message });
const notPermitted = (message: string): Refusal => ({ code: 'FORBIDDEN', message });

function refusalOf(parts: SandboxParts, session: StreamSession, message: Subscription): Refusal | undefined {
  const result = parts.directory.accountFor(session.principal, message.accountId);
  if (result.access === 'unknown') return { code: 'UNKNOWN_TARGET', message: 'There is no such account' };
  if (result.access === 'foreign') return notPermitted('This account is not yours');
  if (message.topic === 'prediction' && !result.account.predictions)
    return notPermitted('This account is not enrolled for prediction orders');
  return undefined;
}

function subscribe(
  parts: SandboxParts,
  subscriptions: Subscriptions,
  eventFaults: EventFaults,
  session: StreamSession,
  message: Subscription,
): void {
  const fault = parts.faults.forSubscribe({ stream: message.topic, accountId: message.accountId });
  // The acknowledgement leaves before the first event: both go out in the order of these calls.
  const follow = () => {
    acknowledge(parts, session, message);
    subscriptions.add(session, message.topic, message.accountId);
  };
  if (fault === 'refuse') refuse(parts, session, message.id, notPermitted('Not permitted'));
  else if (fault === 'no_ack') record(parts, session, message, 'not_acknowledged');
  else if (fault === 'late_ack') session.later(lateAckMs, follow);
  else {
    if (fault === 'early_event') eventFaults.sendAny(session, message.topic, message.accountId);
    follow();
  }
}

function acknowledge(parts: SandboxParts, session: StreamSession, message: Subscription): void {
  const type = message.type === 'subscribe' ? 'subscribed' : 'unsubscribed';
  const payload = { topic: message.topic, target: accountTarget(message.accountId) };
  session.sendMessage({ type, id: message.id, timestamp: session.now(), payload });
  record(parts, session, message, type);
}

function record(parts: SandboxParts, session: StreamSession, message: Subscription, what: string): void {
  parts.ledger.enter(
    'session',
    `,"session":${session.number},"what":"${what}","topic":"${message.topic}","accountId":${jsonText(message.accountId)}`,
  );
}

function refuse(parts: SandboxParts, session: StreamSession, id: string | undefined, refusal: Refusal): void {
  const error = { type: 'error', timestamp: session.now(), payload: refusal };
  session.sendMessage(id === undefined ? error : { ...error, id });
  parts.ledger.enter('session', `,"session":${session.number},"what":"refused","code":"${refusal.code}"`);
}

const maxMessageBytes = 64 * 1024;
const noSuchPath = '{"error":{"type":"not_found","code":"NOT_FOUND","message":"No such path"}}';
const unauthenticated =
  '{"error":{"type":"authentication","code":"UNAUTHENTICATED","message":"The access token is missing, expired or revoked"}}';
const forbidden =
  '{"error":{"type":"forbidden","code":"FORBIDDEN","message":"The token lacks the scope order:information"}}';

/**
 * Every listener's order stream: upgrades, sessions, and their end. `Subscriptions` has the
 * accounts that each connection follows.
 *
 * Invariant: a session exists only for a token that was good at the upgrade; it ends when the token
 * does.
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
  private readonly subscriptions: Subscriptions;
  private readonly eventFaults: EventFaults;
  private readonly options: SessionOptions;

  constructor(
    deps: { parts: SandboxParts; subscriptions: Subscriptions; eventFaults: EventFaults },
    options: SessionOptions,
  ) {
    this.parts = deps.parts;
    this.subscriptions = deps.subscriptions;
    this.eventFaults = deps.eventFaults;
    this.options = options;
    this.parts.tokens.onRevoked((tokenId) => {
      for (const session of this.subscriptions.sessions)
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
    else if (principal === undefined) this.refuse(listener, socket, 401, unauthenticated, token);
    else if (!principal.scopes.has('order:information')) this.refuse(listener, socket, 403, forbidden);
    else {
      this.pending.delete(socket);
      this.server.handleUpgrade(request, socket, head, (ws) =>
        this.listen(this.open(listener, principal, ws, socket), ws),
      );
    }
  }

  private listen(session: StreamSession, ws: WebSocket): void {
    ws.on('message', (data: Buffer, isBinary) => {
      if (!session.open) return;
      const text = JSON.stringify(data.toString('utf8'));
      this.parts.ledger.enter(
        'session',
        `,"session":${session.number},"what":"message","bytes":${data.length},"text":${text}`,
      );
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

  private refuse(listener: string, socket: Socket, status: number, body: string, token?: string): void {
    const tokenId = token === undefined ? undefined : this.parts.tokens.idOf(token);
    const refused = tokenId === undefined ? '' : `,"refusedToken":"${tokenId}"`;
    this.parts.ledger.enter(
      'session',
      `,"what":"upgrade_refused","listener":"${listener}","status":${status}${refused}`,
    );
    refuseUpgrade(socket, status, body);
  }

  private meet(fault: UpgradeFault, listener: string, socket: Socket): void {
    this.parts.ledger.enter('session', `,"what":"upgrade_refused","listener":"${listener}","fault":"${fault}"`);
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
