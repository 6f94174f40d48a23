import { createRequire } from 'node:module';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type ISocketFactory, Kafka, type KafkaConfig, type logCreator, logLevel } from 'kafkajs';
import { present } from '../../../domain/present.ts';
import type { Logger } from '../../../observability/logger.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { bareHost } from '../../../runtime/url-host.ts';
import { withDeadline } from '../../../runtime/waiting.ts';
import type { KafkaOptions } from '../kafka-options.ts';
import { requestInPlace } from './lean-produce.ts';
import { patchOnce } from './patch-once.ts';
import { readCompressed } from './read-compressed.ts';

export interface KafkaClientDeps {
  readonly log: Logger;
  /** Wraps each new socket, before kafkajs sees it. For tests that lose an answer. */
  readonly onSocket?: (socket: Socket) => void;
  /**
   * Every connection goes to this address, not to the brokers' advertised ones: to ask one broker
   * only.
   */
  readonly only?: { readonly host: string; readonly port: number };
}

/**
 * Retires a client with nothing in flight. The disconnect is only a courtesy to the broker, and its
 * failure changes nothing.
 */
export async function leaveKafka(
  clock: Clock,
  client: KafkaClient,
  part: { disconnect(): Promise<void> },
  withinMs = 1000,
): Promise<void> {
  await withDeadline(clock, withinMs, 'disconnecting', part.disconnect()).catch(() => undefined);
  client.retire();
}

/** A `Kafka` object with sockets that can be taken away from it. */
export interface KafkaClient {
  readonly kafka: Kafka;
  /**
   * Destroys every socket and refuses new ones: no client made from `kafka` reaches a broker from
   * here on. Safe to call again.
   */
  retire(): void;
}

/**
 * kafkajs as we use it (docs/decisions/002-kafkajs-without-its-retries.md). None of its own retries
 * are used: its retry loop loses data silently, and a retry needs a new client. Every request has a
 * deadline. We make the sockets ourselves: kafkajs can't abandon a request that hangs, but a
 * destroyed socket rejects everything on it.
 *
 * `attempt` rotates the list of brokers: without retries kafkajs only ever asks the first one, and
 * a new client would ask it again.
 */
export function openKafkaClient(options: KafkaOptions, deps: KafkaClientDeps, attempt = 0): KafkaClient {
  quietThrottleTimer();
  requestInPlace();
  readCompressed();
  const sockets = new Set<Socket>();
  let retired = false;
  const socketFactory: ISocketFactory = ({ host: toldHost, port: toldPort, ssl, onConnect }) => {
    if (retired) throw new Error('this Kafka client is retired');
    const { host, port } = deps.only ?? { host: brokerHost(toldHost), port: toldPort };
    const socket = ssl
      ? connectTls({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}), ...ssl }, onConnect)
      : connect({ host, port }, onConnect);
    socket.setKeepAlive(true, 10_000);
    socket.setNoDelay(true);
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    deps.onSocket?.(socket);
    return socket;
  };
  return {
    kafka: new Kafka({
      ...configOf(options, attempt),
      socketFactory,
      logLevel: logLevel.INFO,
      logCreator: kafkaLogCreator(deps.log),
    }),
    retire: () => {
      retired = true;
      // With an error: without one, destroy emits only `close`. kafkajs does not listen to that,
      // and its requests and timers would live on.
      for (const socket of sockets) socket.destroy(new Error('retired'));
    },
  };
}

function configOf(options: KafkaOptions, attempt: number): KafkaConfig {
  const { brokers, clientId, tls, sasl, connectTimeoutMs, requestTimeoutMs } = options;
  const first = attempt % brokers.length;
  return {
    clientId,
    brokers: [...brokers.slice(first), ...brokers.slice(0, first)].map(seedName),
    connectionTimeout: connectTimeoutMs,
    authenticationTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    enforceRequestTimeout: true,
    retry: { retries: 0 },
    ...(tls !== undefined && {
      ssl: present({ ca: tls.ca && [tls.ca], cert: tls.cert, key: tls.key?.reveal() }),
    }),
    ...(sasl !== undefined && { sasl: saslOf(sasl) }),
  };
}

/**
 * kafkajs splits addresses at every colon, so an IPv6 address's colons are written otherwise until
 * the socket is opened.
 */
function seedName(broker: string): string {
  return broker.replace(/^\[.*\]/, (host) => host.replaceAll(':', '_'));
}

/** The host from `seedName`, or one that the cluster advertises. */
function brokerHost(told: string): string {
  return told.startsWith('[') ? bareHost(told).replaceAll('_', ':') : told;
}

function saslOf({
  mechanism,
  username,
  password,
}: NonNullable<KafkaOptions['sasl']>): NonNullable<KafkaConfig['sasl']> {
  // Its type has a shape of its own for each mechanism.
  return { mechanism, username, password: password.reveal() } as NonNullable<KafkaConfig['sasl']>;
}

/**
 * Normal reports that kafkajs calls errors: coordinators that are still starting, groups that
 * rebalance, and connections that break. We also get each as a rejected call, and the caller logs
 * it once, with its meaning.
 */
const noise =
  /coordinator|rebalanc|not a member of this group|Connection (error|timeout)|Closed connection|retired|Failed to connect|Failed to send messages|The producer is disconnected|^Response [A-Z]|old epoch|timed out|message larger than|topic-partition/i;

/**
 * Writes kafkajs's messages to our log: one level lower than kafkajs gives them, noise at debug.
 */
function kafkaLogCreator(log: Logger): logCreator {
  const out = log.child({ from: 'kafkajs' });
  return () =>
    ({ namespace, level, log: { message, timestamp: _, logger: __, stack: ___, ...fields } }) => {
      const line = { namespace, ...fields };
      const isNoise = noise.test(message) || noise.test(String(fields['error'] ?? ''));
      if (level > logLevel.WARN || isNoise) out.debug(line, message);
      else if (level === logLevel.WARN) out.info(line, message);
      else out.warn(line, message);
    };
}

/** The part of kafkajs's request queue that is overridden. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

const load = createRequire(import.meta.url);

/**
 * kafkajs 2.2.4 arms its throttle check's timer even when no request waits, with a delay computed
 * from a "throttled until" of -1. Node ≥ 24 warns of the negative delay (TimeoutNegativeWarning)
 * and fires after 1 ms, and the check arms the next timer. So each connection wakes a thousand
 * times a second forever, 2 % of a core when idle. Without pending requests there is nothing to
 * check, and `push` arms the timer when one comes.
 *
 * Safe to call again.
 */
export function quietThrottleTimer(): void {
  const { prototype } = load('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };
  patchOnce(prototype, 'scheduleCheckPendingRequests', (original) => {
    return function scheduleCheckPendingRequests(this: RequestQueue): void {
      if (this.pending.length > 0) original.call(this);
    };
  });
}
