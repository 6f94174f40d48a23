import { connect } from 'node:net';

interface RunningKafkaNode {
  readonly id: number;
  readonly port: number;
  /** Its further listeners for clients, in the requested order. */
  readonly clientPorts: readonly number[];
  /** For signals (kill -9, SIGSTOP); changes with `restartNode`. */
  readonly pid: number;
}

/** A Kafka that answers. */
export interface RunningKafka {
  /** Its source: given addresses, a container, or our own processes. */
  readonly kind: 'given' | 'container' | 'embedded';
  /** Bootstrap addresses, as `127.0.0.1:9092`. */
  readonly brokers: string[];
  /** One phrase for people: the kind of server, and its address. */
  readonly describe: string;
  /** Our own processes, so none unless embedded. */
  readonly nodes: readonly RunningKafkaNode[];
  /**
   * Ends the rest of an embedded node and starts it again on the same data and port; resolves when
   * it answers.
   */
  restartNode(id: number): Promise<void>;
  /** Stops it and removes its data. Does nothing to a given one. Safe to call again. */
  stop(): Promise<void>;
}

const metadataKey = 3;
const metadataVersion = 1;

/**
 * Asks the broker at `at` how many brokers in its cluster are up; 0 when it does not answer within
 * `limitMs`.
 *
 * One Metadata request by hand (Kafka protocol, Metadata v1), not a client library: a library
 * brings its retries, log and timers along, for a question of 30 bytes that is asked every 50 ms
 * until the broker is there.
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
      // Size, correlation id, then the array of brokers; we need only its length.
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
