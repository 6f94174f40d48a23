import type { ServerResponse } from 'node:http';
import type { StreamedUpdate } from '../../store/order-reads.ts';

/** Where the events of one reader go. */
export interface EventSink {
  write(text: string): void;
  /** What was written and has not been taken by the socket. */
  readonly bufferedBytes: number;
  /** Calls `done` once, when the socket has taken what was buffered, or is gone. */
  onRoom(done: () => void): void;
  onGone(done: () => void): void;
  end(): void;
  destroy(): void;
}

/** An HTTP response whose head has been written. */
export class ResponseSink implements EventSink {
  private readonly response: ServerResponse;

  constructor(response: ServerResponse) {
    this.response = response;
  }

  get bufferedBytes(): number {
    return this.response.writableLength;
  }

  write(text: string): void {
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

// Server-sent events (WHATWG HTML, "Server-sent events"). Payloads are JSON and so hold no line break of their own.

/** `slow_reader`: the connection ends, and its last id resumes. `too_old`, `unknown_id`: what lies between is not in the log; read the orders anew, the stream goes on from here. */
export type ResetReason = 'slow_reader' | 'too_old' | 'unknown_id';
export const resetReasons: readonly ResetReason[] = ['slow_reader', 'too_old', 'unknown_id'];

/**
 * Why we end a stream that was fine. `draining`, `max_age`: connect again, with the last id. `token_expired`, `token_revoked`: with another token; `token_revoked` is one
 * that we know no longer, or whose key the issuer publishes no longer.
 */
export type ShutdownReason = 'draining' | 'max_age' | 'token_expired' | 'token_revoked';

/**
 * The head of the response leaves at once, and with it the place to go on from: a reader that is cut off before its first event has an id all the same.
 * Browsers reconnect after `retry`.
 */
export function greeting(position: bigint): string {
  return `id: ${position}\nretry: 1000\n\n`;
}

/** Keeps proxies from closing a quiet stream, and moves its id on: a block without data dispatches no event, and sets the last id all the same. */
export function heartbeat(position: bigint): string {
  return `id: ${position}\n\n`;
}

export function updateEvent(update: StreamedUpdate): string {
  return `id: ${update.seq}\nevent: update\ndata: ${update.payload}\n\n`;
}

/** `goingOnAfter`: the position that the stream goes on from, which becomes the reader's last id. Without it the id stays what it was. */
export function resetEvent(reason: ResetReason, goingOnAfter?: bigint): string {
  if (goingOnAfter === undefined) return `event: reset\ndata: {"reason":"${reason}"}\n\n`;
  return `id: ${goingOnAfter}\nevent: reset\ndata: {"reason":"${reason}","goingOnAfter":"${goingOnAfter}"}\n\n`;
}

export function shutdownEvent(reason: ShutdownReason, position: bigint): string {
  return `id: ${position}\nevent: shutdown\ndata: {"reason":"${reason}"}\n\n`;
}
