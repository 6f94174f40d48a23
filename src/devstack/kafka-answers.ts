import { connect } from 'node:net';

const metadataKey = 3;
const metadataVersion = 1;

/**
 * Asks the broker at `at` how many brokers of its cluster are up; 0 when it does not answer within `limitMs`.
 *
 * One Metadata request by hand (Kafka protocol, Metadata v1), not a client library: a library brings its retries, log and timers along,
 * for a question of 30 bytes that is asked every 50 ms until the broker is there.
 */
export function kafkaAnswers(at: { readonly host: string; readonly port: number }, limitMs: number): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect({ ...at, timeout: limitMs });
    let received = Buffer.alloc(0);
    const finish = (brokers: number) => {
      socket.destroy();
      resolve(brokers);
    };
    socket.on('connect', () => socket.write(metadataRequest()));
    socket.on('timeout', () => finish(0));
    socket.on('error', () => finish(0));
    socket.on('close', () => resolve(0));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      // Size, correlation id, then the array of brokers, whose length is all that we want.
      if (received.length >= 12) finish(received.readInt32BE(8));
    });
  });
}

function metadataRequest(): Buffer {
  const clientId = Buffer.from('tidemark-devstack');
  const body = Buffer.alloc(4 + 2 + 2 + 4 + 2 + clientId.length + 4);
  let at = body.writeInt32BE(body.length - 4, 0);
  at = body.writeInt16BE(metadataKey, at);
  at = body.writeInt16BE(metadataVersion, at);
  at = body.writeInt32BE(1, at);
  at = body.writeInt16BE(clientId.length, at);
  at += clientId.copy(body, at);
  body.writeInt32BE(0, at);
  return body;
}
