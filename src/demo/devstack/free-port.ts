import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below the range that Linux (32768 up) and macOS and Windows (49152 up) use for outgoing
// connections' ports. A port from `listen(0)` comes from inside it, and a client's socket easily
// takes it while a killed server is started again.
const lowest = 15_000;
const highest = 32_000;

/**
 * A TCP port now free on loopback. Drawn at random: two processes starting at once rarely draw the
 * same. The caller must expect another program to bind it first.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(lowest, highest);
    if (await canListen(port)) return port;
  }
  throw new Error(`no free port found between ${lowest} and ${highest} in 100 draws`);
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
