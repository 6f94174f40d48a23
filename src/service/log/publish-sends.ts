import { DeadlineError } from '../../runtime/waiting.ts';
import { PublishError, type PublishRow } from './publisher.ts';

interface SendLimits {
  readonly maxRows: number;
  readonly maxBytes: number;
}

/**
 * kafkajs groups messages by partition in quadratic time (0.1 ms at 1,000, the whole time of the
 * send at 10,000), and by default a broker takes 1 MiB for each partition: 900 kB in total fits
 * with any keys.
 */
export const sendLimits: SendLimits = { maxRows: 1000, maxBytes: 900_000 };

/** In a batch, a record adds about this to its key and value. */
const recordOverheadBytes = 20;

/**
 * Splits into pieces of at most `maxRows` and `maxBytes`, in order. A row that is too large is a
 * piece of its own: the broker refuses it.
 */
export function splitSends<Row extends PublishRow>(
  rows: readonly Row[],
  limits: SendLimits = sendLimits,
): (readonly Row[])[] {
  if (rows.length === 0) return [];
  if (rows.length <= limits.maxRows && mostBytes(rows) <= limits.maxBytes) return [rows];
  const pieces: Row[][] = [];
  let piece: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = Buffer.byteLength(row.payload) + Buffer.byteLength(row.key) + recordOverheadBytes;
    if (piece.length > 0 && (piece.length >= limits.maxRows || bytes + size > limits.maxBytes)) {
      pieces.push(piece);
      piece = [];
      bytes = 0;
    }
    piece.push(row);
    bytes += size;
  }
  if (piece.length > 0) pieces.push(piece);
  return pieces;
}

/** To count a payload's bytes takes longer than to write it. A character has at most three. */
function mostBytes(rows: readonly PublishRow[]): number {
  let bytes = 0;
  for (const { payload, key } of rows) bytes += 3 * (payload.length + key.length) + recordOverheadBytes;
  return bytes;
}

/**
 * Kafka's protocol errors that a person can act on, as our codes; the rest is `broker`. Metric
 * labels: keep them few.
 */
const byType: Readonly<Record<string, string>> = {
  MESSAGE_TOO_LARGE: 'too_large',
  RECORD_LIST_TOO_LARGE: 'too_large',
  NOT_LEADER_FOR_PARTITION: 'not_leader',
  LEADER_NOT_AVAILABLE: 'not_leader',
  FENCED_LEADER_EPOCH: 'not_leader',
  UNKNOWN_TOPIC_OR_PARTITION: 'unknown_topic',
  REQUEST_TIMED_OUT: 'timeout',
  NOT_ENOUGH_REPLICAS: 'not_enough_replicas',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'not_enough_replicas',
  TOPIC_AUTHORIZATION_FAILED: 'unauthorized',
  CLUSTER_AUTHORIZATION_FAILED: 'unauthorized',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'unauthorized',
  SASL_AUTHENTICATION_FAILED: 'unauthorized',
  KAFKA_STORAGE_ERROR: 'storage',
  INVALID_TIMESTAMP: 'clock',
  INVALID_PRODUCER_EPOCH: 'fenced',
  TRANSACTION_COORDINATOR_FENCED: 'fenced',
};

const byName: Readonly<Record<string, string>> = {
  KafkaJSConnectionError: 'connection',
  KafkaJSConnectionClosedError: 'connection',
  KafkaJSBrokerNotFound: 'connection',
  KafkaJSRequestTimeoutError: 'timeout',
  KafkaJSLockTimeout: 'timeout',
  KafkaJSSASLAuthenticationError: 'unauthorized',
  KafkaJSTopicMetadataNotLoaded: 'unknown_topic',
  KafkaJSMetadataNotLoaded: 'unknown_topic',
};

/** PRODUCER_FENCED; kafkajs 2.2.4 has no name for it. */
const producerFenced = /\b90\b/;

/** The first protocol error's type in an error and its causes. */
export function kafkaErrorType(err: unknown): string | undefined {
  for (let at = err; at instanceof Error; at = at.cause) {
    const type: unknown = (at as Error & { type?: unknown }).type;
    if (typeof type !== 'string') continue;
    return type === 'KAFKAJS_UNKNOWN_ERROR_CODE' && producerFenced.test(at.message) ? 'INVALID_PRODUCER_EPOCH' : type;
  }
  return undefined;
}

/** Kafka's own words do not name a clock, and do not say which of the two is wrong. */
const clocksDiffer =
  'the clock of this process and that of the broker differ by more than the topic takes (message.timestamp.after.max.ms and .before.max.ms); compare both, see docs/runbooks/ClockSkewed.md';

/** A send's error, as the relay knows it. */
export function toPublishError(err: unknown): PublishError {
  for (let at = err; at instanceof Error; at = at.cause) if (at instanceof PublishError) return at;
  const code = codeOf(err);
  const message = err instanceof Error ? err.message : String(err);
  return new PublishError(code, code === 'clock' ? `${message}: ${clocksDiffer}` : message, { cause: err });
}

function codeOf(err: unknown): string {
  if (err instanceof DeadlineError) return 'timeout';
  const type = kafkaErrorType(err);
  if (type !== undefined) return byType[type] ?? 'broker';
  for (let at = err; at instanceof Error; at = at.cause) {
    const code = byName[at.name];
    if (code !== undefined) return code;
  }
  return 'other';
}
