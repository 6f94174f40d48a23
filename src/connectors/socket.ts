import type { Secret } from '../runtime/secret.ts';

/** How a socket ended. Told exactly once, also for one that never opened. */
export type SocketEnd =
  /** The upgrade was answered with something else: a status, HTML, a redirect. */
  | { readonly kind: 'refused'; readonly status: number }
  /** A close frame came, or the connection ended without one (code 1006). */
  | { readonly kind: 'closed'; readonly code: number; readonly reason: string }
  /** It broke, or the peer did something that we close on. `code` is short and stable: `connect`, `timeout`, `binary`, `bad_utf8`, `oversize`, `ping_flood`, `slow_reader`, `protocol`. */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

export interface SocketHandlers {
  onOpen(): void;
  /** A whole text message, valid UTF-8. */
  onFrame(text: string): void;
  /** Last call of all. */
  onEnd(end: SocketEnd): void;
}

/**
 * One WebSocket, as a connection sees it. Nothing throws; calls on a socket that has ended do nothing. Frames that arrived before the end are
 * delivered before it, also after `close` (not after `terminate`).
 */
export interface Socket {
  send(text: string): void;
  ping(): void;
  /** Stops reading from the network. What was read already may still be delivered. */
  pause(): void;
  resume(): void;
  /** Says goodbye, goes on delivering until the peer answers, and ends for certain within 2 s. */
  close(): void;
  /** Ends it at once. */
  terminate(): void;
  /** Bytes received so far, of whatever kind (also control frames and half a message): the sign of life. */
  bytesReceived(): number;
}

/** Opens a socket; the credential goes into the `Authorization` header, never into the address. */
export type SocketFactory = (url: string, accessToken: Secret, handlers: SocketHandlers) => Socket;
