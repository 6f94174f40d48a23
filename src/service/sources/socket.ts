import type { reconnectReasons } from '../../observability/source-metrics.ts';
import type { Secret } from '../../runtime/secret.ts';
import type { HttpRequest } from '../../venue/http.ts';
import type { SignedRequest } from '../../venue/read-venue.ts';
import type { CloseReason, StreamProtocol } from '../../venue/venue.ts';

/** How a socket ended. Reported exactly once, also for one that never opened. */
export type SocketEnd =
  /** The upgrade got another answer: a status, HTML, a redirect. */
  | { readonly kind: 'refused'; readonly status: number }
  /** A close frame came, or the connection ended without one (code 1006). */
  | { readonly kind: 'closed'; readonly code: number; readonly reason: string }
  /**
   * It broke, or the peer did something on which we close: `connect`, `timeout`, `binary`,
   * `bad_utf8`, `oversize`, `ping_flood`, `slow_reader`, `protocol`. Or we ended it: `stopped`.
   */
  | { readonly kind: 'failed'; readonly code: EndReason; readonly message: string };

export interface SocketHandlers {
  onOpen(): void;
  /** A whole text message, valid UTF-8. */
  onFrame(text: string): void;
  /**
   * A pong, behind every frame that the peer sent before it.
   * `payload`: as it came, at most 125 bytes.
   */
  onPong(payload: string): void;
  /** The last call of all. */
  onEnd(end: SocketEnd): void;
}

/**
 * One WebSocket, as a connection sees it. Nothing throws; calls on a socket that
 * has ended do nothing. Frames that arrived before the end are delivered before it,
 * also after `close` (not after `terminate`).
 */
export interface Socket {
  send(text: string): void;
  /** `payload` comes back in the pong (RFC 6455, section 5.5.3). */
  ping(payload: string): void;
  /** Stops reading from the network. Messages that were read already may still be delivered. */
  pause(): void;
  resume(): void;
  /** Says goodbye, continues to deliver until the peer answers, and ends in any case within 2 s. */
  close(): void;
  /** Ends it at once. */
  terminate(): void;
  /**
   * Bytes received so far, of any kind (also control frames and half a message): the sign of life.
   */
  bytesReceived(): number;
}

/**
 * Opens a socket. The credential goes into the `Authorization` header, never into the address;
 * undefined: the session signs in by a message, or by `headers`.
 */
export type SocketFactory = (
  url: string,
  accessToken: Secret | undefined,
  handlers: SocketHandlers,
  headers?: HttpRequest['headers'],
) => Socket;

/** The sign-in of an upgrade. Neither: a message of the session does it. */
export function signed({ hello, upgrade }: StreamProtocol, credential: Secret, request: SignedRequest) {
  if (upgrade !== undefined) return { headers: upgrade(credential, request) };
  return hello === undefined ? { bearer: credential } : {};
}

/**
 * Why a connection ended, as a metric label: by the socket's own report, or by our finding.
 * `unauthorized` asks for a new token, `forbidden` for a person; `replaced`, `stopped` and
 * `store_lost` are our own decisions.
 */
export type EndReason = (typeof reconnectReasons)[number];

export interface ConnectionEnd {
  readonly reason: EndReason;
  /** For people. */
  readonly detail: string;
  /**
   * The peer answered our close frame with its own, so every message it had sent before was handed
   * over. Without it there may have been more: a peer that ends by itself may throw away what it
   * still has to send.
   */
  readonly goodbye?: true;
}

/** A socket's end in these terms. `closeReasons`: of the venue's own close codes. */
export function endOfSocket(end: SocketEnd, closeReasons?: ReadonlyMap<number, CloseReason>): ConnectionEnd {
  switch (end.kind) {
    case 'refused':
      return {
        reason: refusals.get(end.status) ?? 'refused',
        detail: `the upgrade was answered with status ${end.status}`,
      };
    case 'closed':
      return {
        reason: closeReasons?.get(end.code) ?? 'closed',
        detail: `closed with ${end.code} ${end.reason}`.trimEnd(),
        ...(answersToOurs.has(end.code) && { goodbye: true }),
      };
    case 'failed':
      return { reason: end.code, detail: end.message };
  }
}

/** RFC 6455, section 7.4.1: a normal end, and a close frame that gives no reason. */
const answersToOurs: ReadonlySet<number> = new Set([1000, 1005]);

const refusals: ReadonlyMap<number, EndReason> = new Map([
  [401, 'unauthorized'],
  [403, 'forbidden'],
]);
