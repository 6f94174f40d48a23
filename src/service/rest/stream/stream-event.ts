import type { ServerResponse } from 'node:http';
import type { EventPosition, StreamedEvent, StreamedUpdate } from '../../../store/orders/order-reads.ts';
import { portsOf } from './unacknowledged.ts';

/** The destination for one reader's events. */
export interface EventSink {
  write(text: string | Uint8Array): void;
  /** Bytes written but not yet taken by the socket. */
  readonly bufferedBytes: number;
  /** Its connection's ports (`portsOf`); left out if it is none. */
  readonly ports?: string;
  /** Calls `done` once, when the socket has taken its buffer, or is gone. */
  onRoom(done: () => void): void;
  onGone(done: () => void): void;
  end(): void;
  destroy(): void;
}

/** An HTTP response with its head already written. */
export class ResponseSink implements EventSink {
  readonly ports: string;
  private readonly response: ServerResponse;

  constructor(response: ServerResponse) {
    this.response = response;
    this.ports = portsOf(response.socket?.localPort, response.socket?.remotePort);
  }

  get bufferedBytes(): number {
    return this.response.writableLength;
  }

  write(text: string | Uint8Array): void {
    this.response.write(text);
  }

  onRoom(done: () => void): void {
    const once = () => {
      this.response.off('drain', once);
      this.response.off('close', once);
      done();
    };
    if (!this.response.writableNeedDrain || this.response.closed) done();
    else {
      this.response.once('drain', once);
      this.response.once('close', once);
    }
  }

  onGone(done: () => void): void {
    this.response.once('close', done);
  }

  end(): void {
    this.response.end();
  }

  destroy(): void {
    this.response.destroy();
  }
}

// Server-sent events (WHATWG HTML, "Server-sent events"). Payloads are JSON, so they contain no
// line breaks.

/**
 * `slow_reader`: the connection ends; resume with its last id. `too_old`, `unknown_id`: the updates
 * in between are not in the log; read the orders again, the stream goes on from here.
 */
export type ResetReason = 'slow_reader' | 'too_old' | 'unknown_id';
export const resetReasons: readonly ResetReason[] = ['slow_reader', 'too_old', 'unknown_id'];

/**
 * Why we end a stream that was fine. `draining`, `max_age`: connect again, with the last id.
 * `token_expired`, `token_revoked`: connect again with another token. A revoked token is no longer
 * known, or the issuer no longer publishes its key.
 */
export type ShutdownReason = 'draining' | 'max_age' | 'token_expired' | 'token_revoked';

/**
 * A stream's id. With events it has two positions: one in the log, and one in results and halts
 * (docs/decisions/030-an-id-of-two-positions.md).
 */
export function streamId(position: bigint, events: EventPosition | undefined): string {
  return events === undefined ? `${position}` : `${position}.${events.tx}.${events.number}`;
}

export const streamIdPattern = /^(0|[1-9]\d{0,17})(?:\.(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17}))?$/;

/** Undefined: the text is no stream id. `events` is left out in an id without them. */
export function parseStreamId(
  text: string,
): { readonly position: bigint; readonly events?: EventPosition } | undefined {
  const [, position = '', tx, number] = streamIdPattern.exec(text) ?? [];
  if (position === '') return undefined;
  if (tx === undefined || number === undefined) return { position: BigInt(position) };
  return { position: BigInt(position), events: { tx: BigInt(tx), number: BigInt(number) } };
}

/**
 * Sent at once with the response's head. It has the position to go on from, so a reader that is
 * disconnected before its first event still has an id. Browsers reconnect after `retry`.
 */
export function greeting(id: string): string {
  return `id: ${id}\nretry: 1000\n\n`;
}

/**
 * Keeps proxies from closing a quiet stream, and advances its id: a block without data dispatches
 * no event but still sets the last id.
 */
export function heartbeat(id: string): string {
  return `id: ${id}\n\n`;
}

export function updateEvent(update: StreamedUpdate, id = `${update.seq}`): string {
  return eventText('update', update.payload, id);
}

export function resultOrHalt({ kind, payload }: StreamedEvent, id: string): string {
  return eventText(kind, payload, id);
}

/**
 * `goingOnAfter`: the stream goes on from this position, and it becomes the reader's last id.
 * Without it the id does not change.
 */
export function resetEvent(reason: ResetReason, goingOnAfter?: string): string {
  return eventText('reset', JSON.stringify({ reason, goingOnAfter }), goingOnAfter);
}

export function shutdownEvent(reason: ShutdownReason, id: string): string {
  return eventText('shutdown', JSON.stringify({ reason }), id);
}

function eventText(event: string, data: string, id: string | undefined): string {
  const block = `event: ${event}\ndata: ${data}\n\n`;
  return id === undefined ? block : `id: ${id}\n${block}`;
}
