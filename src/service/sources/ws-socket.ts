import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { openThrough } from '../../runtime/connector-through.ts';
import type { DialDeps } from '../../runtime/dial.ts';
import { Proxies } from '../../runtime/proxies.ts';
import { Secret } from '../../runtime/secret.ts';
import { type HttpRequest, revealedHeaders } from '../../venue/http.ts';
import type { EndReason, Socket, SocketEnd, SocketFactory, SocketHandlers } from './socket.ts';

export const wsSocketDefaults = {
  /** From the start of the connection to the upgrade's answer. */
  openMs: 5_000,
  closeMs: 2_000,
  /** A longer message ends the connection. Contract: 64 KiB. */
  maxFrameBytes: 64 * 1024,
  maxFragments: 64,
  /** More of the peer's pings within a second end the connection: each costs a pong. */
  maxPingsPerSecond: 50,
  /**
   * The peer does not read our bytes (mostly pongs): beyond this it ends the
   * connection instead of filling our memory.
   */
  maxUnsentBytes: 1024 * 1024,
};

export type WsSocketOptions = Readonly<typeof wsSocketDefaults>;

/**
 * Sockets by `ws`. No permessage-deflate is offered, so a deflate bomb is a
 * protocol error; no redirect is followed.
 */
export function wsSocketFactory(
  clock: Clock,
  options: WsSocketOptions = wsSocketDefaults,
  proxies: Proxies = new Proxies(),
): SocketFactory {
  return (url, accessToken, handlers, headers) => {
    try {
      const signed = headers ?? (accessToken && { authorization: new Secret(`Bearer ${accessToken.reveal()}`) });
      return new WsSocket({ clock, proxies }, options, url, signed ?? {}, handlers);
    } catch (error) {
      // A token that no header can carry, for example: `ws` throws
      // before there is a socket that could fail.
      return stillborn(clock, handlers, error instanceof Error ? error.message : String(error));
    }
  };
}

/** A socket that never opened, and ends as soon as its caller holds it. */
function stillborn(clock: Clock, handlers: SocketHandlers, message: string): Socket {
  clock.after(0, () => handlers.onEnd({ kind: 'failed', code: 'connect', message }));
  const nothing = () => undefined;
  return {
    send: nothing,
    ping: nothing,
    pause: nothing,
    resume: nothing,
    close: nothing,
    terminate: nothing,
    bytesReceived: () => 0,
  };
}

/**
 * States: connecting → open → closing → ended. Invariant: `onEnd` is
 * called once, last, and with the first cause.
 */
class WsSocket implements Socket {
  private readonly ws: WebSocket;
  private readonly clock: Clock;
  private readonly options: WsSocketOptions;
  private readonly handlers: SocketHandlers;
  private response: IncomingMessage | undefined;
  private cause: SocketEnd | undefined;
  private closeTimer: Timer | undefined;
  private readonly openTimer: Timer;
  private pings = 0;
  private pingsSinceMs = 0;

  constructor(
    deps: DialDeps,
    options: WsSocketOptions,
    url: string,
    headers: HttpRequest['headers'],
    handlers: SocketHandlers,
  ) {
    this.clock = deps.clock;
    this.options = options;
    this.handlers = handlers;
    const at = URL.parse(url);
    const isThrough = at !== null && deps.proxies.proxyFor(at) !== undefined;
    this.ws = new WebSocket(url, {
      ...(isThrough && { createConnection: openThrough(deps, at, options.openMs) }),
      perMessageDeflate: false,
      followRedirects: false,
      handshakeTimeout: options.openMs,
      maxPayload: options.maxFrameBytes,
      maxFragments: options.maxFragments,
      headers: revealedHeaders(headers),
    });
    // `handshakeTimeout` begins anew with each byte, and is not there behind a proxy. Twice the
    // time: the dial to the proxy has the first half, and names it.
    this.openTimer = this.clock.after(2 * options.openMs, () =>
      this.fail('timeout', 'the upgrade was not answered in time'),
    );
    this.listen();
  }

  send(text: string): void {
    if (this.ws.readyState === WebSocket.OPEN) this.ws.send(text, () => undefined);
  }

  ping(payload: string): void {
    if (this.ws.readyState !== WebSocket.OPEN) return;
    this.ws.ping(payload);
    if (this.ws.bufferedAmount > this.options.maxUnsentBytes)
      this.fail('slow_reader', 'the peer does not read what we send');
  }

  pause(): void {
    this.ws.pause();
  }

  resume(): void {
    this.ws.resume();
  }

  close(): void {
    // A paused socket would never see the peer's answer.
    this.ws.resume();
    this.ws.close(1000);
    this.closeTimer ??= this.clock.after(this.options.closeMs, () => this.ws.terminate());
  }

  terminate(): void {
    this.ws.resume();
    this.cause ??= { kind: 'failed', code: 'stopped', message: 'ended by us' };
    this.ws.terminate();
  }

  bytesReceived(): number {
    return this.response?.socket.bytesRead ?? 0;
  }

  private listen(): void {
    this.ws.on('upgrade', (response) => {
      this.response = response;
    });
    this.ws.on('open', () => {
      this.openTimer.cancel();
      this.handlers.onOpen();
    });
    this.ws.on('message', (data, isBinary) => {
      // After a fault nothing more is delivered: `terminate` leaves the buffered bytes to be read.
      if (this.cause !== undefined) return;
      // Some servers send the same text as a binary message.
      if (isBinary && !(Buffer.isBuffer(data) && isUtf8(data))) this.fail('binary', 'a binary message');
      else this.handlers.onFrame(data.toString());
    });
    this.ws.on('ping', () => this.countPing());
    this.ws.on('pong', (payload) => {
      if (this.cause === undefined) this.handlers.onPong(payload.toString());
    });
    this.ws.on('unexpected-response', (request, response) => {
      this.cause ??= { kind: 'refused', status: response.statusCode ?? 0 };
      request.destroy();
      this.ws.terminate();
    });
    this.ws.on('error', (error) => {
      this.cause ??= { kind: 'failed', code: codeOf(error), message: error.message };
    });
    this.ws.on('close', (code, reason) => {
      this.openTimer.cancel();
      this.closeTimer?.cancel();
      this.handlers.onEnd(this.cause ?? { kind: 'closed', code, reason: reason.toString().slice(0, 200) });
    });
  }

  private countPing(): void {
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.pingsSinceMs > 1_000) {
      this.pings = 0;
      this.pingsSinceMs = nowMs;
    }
    this.pings += 1;
    if (this.pings > this.options.maxPingsPerSecond)
      this.fail('ping_flood', `more than ${this.options.maxPingsPerSecond} pings a second`);
  }

  private fail(code: EndReason, message: string): void {
    this.cause ??= { kind: 'failed', code, message };
    this.ws.terminate();
  }
}

function codeOf(error: Error & { readonly code?: string }): EndReason {
  switch (error.code) {
    case 'WS_ERR_INVALID_UTF8':
      return 'bad_utf8';
    case 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH':
      return 'oversize';
    case undefined:
      return error.message.includes('timed out') ? 'timeout' : 'protocol';
    default:
      return error.code.startsWith('WS_ERR_') || error.code.startsWith('HPE_') ? 'protocol' : 'connect';
  }
}
