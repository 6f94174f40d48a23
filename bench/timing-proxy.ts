import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Cleanup } from './cleanup.ts';

/** A platform behind a stopwatch. */
export interface TimingProxy {
  readonly url: string;
  /**
   * Milliseconds from the last byte of the request to the last byte of the answer, by our
   * reference; undefined for what did not pass.
   */
  answerMs(reference: string): number | undefined;
}

const reference = /"client(?:Id|OrderRef)":"(tm-[^"]+)"/;

/**
 * Carries the bytes of each connection to `target` and back, and notes how long the platform took
 * for a request that carries a reference. It reads no HTTP: what it costs counts as the service's,
 * not the platform's, on the same cores. One request is under way on a connection at a time.
 */
export async function startTimingProxy(cleanup: Cleanup, target: string): Promise<TimingProxy> {
  const times = new Map<string, number>();
  const sockets = new Set<Socket>();
  const { hostname, port } = new URL(target);
  const server = createServer({ noDelay: true }, (caller) => {
    const platform = connect({ host: hostname, port: Number(port), noDelay: true });
    let name: string | undefined;
    let askedMs = 0;
    caller.on('data', (bytes) => {
      askedMs = performance.now();
      name = reference.exec(bytes.toString('latin1'))?.[1] ?? name;
      platform.write(bytes);
    });
    platform.on('data', (bytes) => {
      if (name !== undefined) times.set(name, performance.now() - askedMs);
      caller.write(bytes);
    });
    for (const [one, other] of [
      [caller, platform],
      [platform, caller],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.on('end', () => other.end());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanup.add(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, answerMs: (name) => times.get(name) };
}
