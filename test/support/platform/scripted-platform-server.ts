import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { systemClock } from '../../../src/runtime/clock.ts';
import { eventText, type Row, rowText } from '../../../src/venue/platform/fixtures/rows.ts';

type ScriptedStream = 'account' | 'prediction';

export interface PlatformStyle {
  /** Account ids; the first is enrolled for prediction orders, the others are not. */
  readonly accounts: readonly [string, ...string[]];
  /** Before a subscription is acknowledged. */
  readonly ackDelayMs?: number;
  /** Rows on a page of a list, whatever the reader asks for. */
  readonly pageSize?: number;
  /** How a body or a frame is written: `text` is compact JSON. */
  readonly write?: (text: string) => string;
  /** Answers the n-th upgrade in place of a WebSocket, when it returns text. */
  readonly refuseUpgrade?: (count: number) => string | undefined;
  /** What is done with the n-th subscription of all; default `acknowledge`. */
  readonly onSubscribe?: (count: number, follower: Follower) => 'acknowledge' | 'ignore';
}

/** One connection to the stream. */
interface Follower {
  readonly socket: WebSocket;
  /** Below the WebSocket, for bytes that no library would send. */
  readonly raw: Socket;
  /** `<topic> <account>` of every acknowledged subscription. */
  readonly targets: Set<string>;
}

interface Stored {
  readonly stream: ScriptedStream;
  readonly accountId: string;
  readonly updatedAt: string;
  readonly text: string;
}

/**
 * A platform on real sockets for the service as a process. It knows nothing of our code: plain
 * `http` and `ws`, written from docs/platform-assumptions.md. It does what the test says, and
 * remembers what it was asked. Its lists show what `put` gave them; the stream sends what `emit`
 * and the followers' sockets are given, whether the lists agree or not.
 */
export class ScriptedPlatformServer {
  readonly followers = new Set<Follower>();
  /** `GET /v1/orders/…` and so on, as they came. */
  readonly requests: string[] = [];
  upgrades = 0;
  private subscriptions = 0;
  private readonly orders = new Map<string, Stored>();
  private readonly sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  private readonly server: Server;
  private readonly style: PlatformStyle;

  private constructor(style: PlatformStyle) {
    this.style = style;
    this.server = createServer((request, response) => this.answer(request, response));
    this.server.on('upgrade', (request, socket: Socket, head) => this.upgrade(request, socket, head));
  }

  /** Listens on loopback, and stops with the test. */
  static async start(style: PlatformStyle): Promise<ScriptedPlatformServer> {
    const platform = new ScriptedPlatformServer(style);
    await new Promise<void>((resolve) => platform.server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => platform.stop());
    return platform;
  }

  /** As settings of the service. Prediction orders are at the same address. */
  get settings(): Record<string, string> {
    const base = `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return {
      PLATFORM_URL: `http://${base}`,
      PLATFORM_STAGING_URL: `http://${base}`,
      PLATFORM_STREAM_URL: `ws://${base}/v1/stream`,
      PLATFORM_CLIENT_ID: 'desk',
      PLATFORM_CLIENT_SECRET: 'desk-secret',
    };
  }

  /** What the lists and the gets show from now on. */
  put(stream: ScriptedStream, row: Row, version?: string): void {
    const accountId = String(row['accountId']);
    const orderId = String(row['orderId'] ?? row['ordId']);
    this.orders.set(`${stream} ${orderId}`, {
      stream,
      accountId,
      updatedAt: String(row['updatedAt']),
      text: rowText(row, version),
    });
  }

  /**
   * An event to everybody who follows the account. `version` are
   * bare digits, or any other source text.
   */
  emit(stream: ScriptedStream, row: Row, version?: string, accountId = String(row['accountId'])): void {
    this.send(stream, accountId, eventText(stream, accountId, row, version));
  }

  /** Any text as one frame, to everybody who follows the account. */
  send(stream: ScriptedStream, accountId: string, text: string): void {
    for (const { socket } of this.following(stream, accountId)) socket.send(this.write(text));
  }

  following(stream: ScriptedStream, accountId: string): Follower[] {
    return [...this.followers].filter(({ targets }) => targets.has(`${stream} ${accountId}`));
  }

  private stop(): Promise<void> {
    for (const { socket } of this.followers) socket.terminate();
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private upgrade(request: IncomingMessage, raw: Socket, head: Buffer): void {
    raw.on('error', () => undefined);
    this.upgrades += 1;
    const unauthorized =
      request.headers.authorization === 'Bearer good' ? undefined : 'HTTP/1.1 401 Unauthorized\r\n\r\n';
    const refusal = unauthorized ?? this.style.refuseUpgrade?.(this.upgrades);
    if (refusal !== undefined) {
      raw.end(refusal);
      return;
    }
    this.sockets.handleUpgrade(request, raw, head, (socket) => {
      const follower: Follower = { socket, raw, targets: new Set() };
      this.followers.add(follower);
      socket.on('error', () => undefined);
      socket.on('close', () => this.followers.delete(follower));
      socket.on('message', (data) => this.hear(follower, JSON.parse(String(data))));
    });
  }

  private hear(
    follower: Follower,
    message: { type: string; id: string; payload: { topic: string; target: string } },
  ): void {
    const { type, id, payload } = message;
    const target = `${payload.topic} ${payload.target.replace('account:', '')}`;
    if (type === 'unsubscribe') follower.targets.delete(target);
    else {
      this.subscriptions += 1;
      if (this.style.onSubscribe?.(this.subscriptions, follower) === 'ignore') return;
    }
    systemClock.after(this.style.ackDelayMs ?? 0, () => {
      if (type === 'subscribe') follower.targets.add(target);
      follower.socket.send(this.write(JSON.stringify({ type: `${type}d`, id, timestamp: nowText(), payload })));
    });
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://platform');
    this.requests.push(`${request.method} ${url.pathname}`);
    const reply = (status: number, text: string) => {
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
      response.end(this.write(text));
    };
    if (url.pathname === '/v1/oauth2/token') {
      reply(
        200,
        '{"access_token":"good","token_type":"Bearer","expires_in":3600,"scope":"account:information order:information"}',
      );
    } else if (request.headers.authorization !== 'Bearer good') {
      reply(401, '{"error":{"type":"authentication","code":"UNAUTHENTICATED","message":"no"}}');
    } else if (url.pathname === '/v2/users/me/accounts') {
      reply(200, JSON.stringify({ accounts: this.style.accounts.map(accountItem) }));
    } else {
      this.answerOrders(url, reply);
    }
  }

  private answerOrders(url: URL, reply: (status: number, text: string) => void): void {
    const [, path, orderId] = /^\/v1\/(orders|predictions\/orders)(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    const accountId = url.searchParams.get('accountId') ?? '';
    if (path === undefined || !this.style.accounts.includes(accountId)) {
      reply(path === undefined ? 404 : 403, '{"error":{"type":"x","code":"NO","message":"no"}}');
      return;
    }
    const stream: ScriptedStream = path === 'orders' ? 'account' : 'prediction';
    const wrap = (text: string) => (stream === 'account' ? text : `{"success":true,"data":${text}}`);
    if (stream === 'prediction' && accountId !== this.style.accounts[0]) {
      reply(403, '{"error":{"type":"forbidden","code":"FORBIDDEN","message":"not enrolled"}}');
    } else if (orderId !== undefined) {
      const found = this.orders.get(`${stream} ${decodeURIComponent(orderId)}`);
      reply(found === undefined ? 404 : 200, found === undefined ? '{"error":"not found"}' : wrap(found.text));
    } else {
      reply(200, wrap(this.page(stream, accountId, url.searchParams)));
    }
  }

  private page(stream: ScriptedStream, accountId: string, query: URLSearchParams): string {
    const after = query.get('updatedAfter') ?? '';
    const rows = [...this.orders.values()]
      .filter((stored) => stored.stream === stream && stored.accountId === accountId && later(stored.updatedAt, after))
      .sort((a, b) => (a.updatedAt < b.updatedAt ? -1 : 1));
    const from = Number(query.get('cursor') ?? 0);
    const to = from + Math.min(this.style.pageSize ?? 500, Number(query.get('limit') ?? 100));
    const next = to < rows.length ? `,"nextCursor":"${to}"` : '';
    const texts = rows.slice(from, to).map(({ text }) => text);
    return `{"orders":[${texts.join()}]${next}}`;
  }

  private write(text: string): string {
    return this.style.write?.(text) ?? text;
  }
}

function accountItem(accountId: string): object {
  return {
    trading_account_id: accountId,
    broker_account_id: '',
    status: 'OPEN',
    is_sim: true,
    account_type: '',
    account_class: '',
  };
}

/** By time, not by text: the reader may write instants in another precision. */
function later(updatedAt: string, after: string): boolean {
  return after === '' || Date.parse(updatedAt) > Date.parse(after);
}

/** The platform's present time, as it stands in rows. */
export function nowText(aheadMs = 0): string {
  return new Date(systemClock.nowMs() + aheadMs).toISOString();
}
