import { connect } from 'node:net';
import { systemClock } from '../../../src/runtime/clock.ts';

interface RawOptions {
  /** Sent one by one, so long apart: a client that drips. */
  readonly drip?: { readonly everyMs: number; readonly parts: readonly string[] };
}

/**
 * What a server answers to these bytes, as it came, until it closes the
 * connection. Rejects when it can't be reached.
 */
export function sendRaw(address: string, bytes: string, { drip }: RawOptions = {}): Promise<string> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve, reject) => {
    let answer = '';
    const closed = new AbortController();
    const socket = connect(Number(port), hostname, async () => {
      socket.write(bytes);
      for (const part of drip?.parts ?? []) {
        await systemClock.sleep(drip?.everyMs ?? 0, closed.signal);
        if (closed.signal.aborted || !socket.writable) return;
        socket.write(part);
      }
    });
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.on('close', () => {
      closed.abort();
      resolve(answer);
    });
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' || error.code === 'EPIPE' ? undefined : reject(error),
    );
  });
}
