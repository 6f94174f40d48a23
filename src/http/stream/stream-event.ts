import type { StreamedUpdate } from '../order-reads.ts';

// Server-sent events (WHATWG HTML, "Server-sent events"). Payloads are JSON and so hold no line break of their own.

/** `slow_reader`: the connection ends, and its last id resumes. `too_old`, `unknown_id`: what lies between is not in the log; read the orders anew, the stream goes on from here. */
export type ResetReason = 'slow_reader' | 'too_old' | 'unknown_id';
export const resetReasons: readonly ResetReason[] = ['slow_reader', 'too_old', 'unknown_id'];

/** Why we end a stream that was fine: connect again, with the last id. */
export type ShutdownReason = 'draining' | 'token_expired' | 'max_age';

/** Browsers reconnect after so long; and the head of the response leaves at once. */
export const greeting = 'retry: 1000\n\n';
/** Keeps proxies from closing a quiet stream. */
export const heartbeat = ':\n\n';

export function updateEvent(update: StreamedUpdate): string {
  return `id: ${update.seq}\nevent: update\ndata: ${update.payload}\n\n`;
}

/** `goingOnAfter`: the position that the stream goes on from, which becomes the reader's last id. Without it the id stays what it was. */
export function resetEvent(reason: ResetReason, goingOnAfter?: bigint): string {
  if (goingOnAfter === undefined) return `event: reset\ndata: {"reason":"${reason}"}\n\n`;
  return `id: ${goingOnAfter}\nevent: reset\ndata: {"reason":"${reason}","goingOnAfter":"${goingOnAfter}"}\n\n`;
}

export function shutdownEvent(reason: ShutdownReason): string {
  return `event: shutdown\ndata: {"reason":"${reason}"}\n\n`;
}
