import { DeadlineError } from '../../runtime/waiting.ts';
import { PublishError, type PublishRow } from './publisher.ts';

/**
 * By default a broker takes 1 MiB for each partition: 900 kB in total fits with any keys. Rows are
 * bounded too: 900 kB of small ones would keep the process busy for 10 ms.
 */
export const sendLimits = { maxRows: 1000, maxBytes: 900_000 };

/** In a batch, a record adds about this to its key and value. */
const recordOverheadBytes = 20;

/**
 * Splits into pieces of at most `maxRows` and `maxBytes`, in order. A row that is too large is a
 * piece of its own: the broker refuses it.
 */
export function splitSends<Row extends PublishRow>(rows: readonly Row[], limits = sendLimits): (readonly Row[])[] {
  if (rows.length === 0) return [];
  if (rows.length <= limits.maxRows && mostBytes(rows) <= limits.maxBytes) return [rows];
  const pieces: Row[][] = [];
  let piece: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = bytesOf(row);
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

function bytesOf({ payload, key }: PublishRow): number {
  return Buffer.byteLength(payload) + Buffer.byteLength(key) + recordOverheadBytes;
}

/** To count a payload's bytes takes longer than to write it. A character has at most three. */
function mostBytes(rows: readonly PublishRow[]): number {
  let bytes = 0;
  for (const { payload, key } of rows) bytes += 3 * (payload.length + key.length) + recordOverheadBytes;
  return bytes;
}

/**
 * A publisher's pieces, as large as its topics take them. `max.message.bytes` of a topic may be
 * below the plan: after a refusal pieces hold half of the refused one, and after each thousand
 * pieces taken twice as much again, up to the plan.
 */
export class PieceSize {
  private maxBytes = sendLimits.maxBytes;
  private taken = 0;

  split<Row extends PublishRow>(rows: readonly Row[]): (readonly Row[])[] {
    return splitSends(rows, { maxRows: sendLimits.maxRows, maxBytes: this.maxBytes });
  }

  took(): void {
    this.taken += 1;
    if (this.taken < 1000) return;
    this.taken = 0;
    this.maxBytes = Math.min(sendLimits.maxBytes, 2 * this.maxBytes);
  }

  /** False: smaller pieces don't help, since it was one row. */
  refused(piece: readonly PublishRow[]): boolean {
    if (piece.length < 2) return false;
    this.taken = 0;
    const bytes = piece.reduce((sum, row) => sum + bytesOf(row), 0);
    this.maxBytes = Math.max(1, Math.floor(Math.min(this.maxBytes, bytes) / 2));
    return true;
  }
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

/** A send's error, as the relay knows it. `piece`: what was sent. */
export function toPublishError(err: unknown, piece: readonly PublishRow[] = []): PublishError {
  for (let at = err; at instanceof Error; at = at.cause) if (at instanceof PublishError) return at;
  const code = codeOf(err);
  const message = err instanceof Error ? err.message : String(err);
  const [row, ...others] = piece;
  if (code === 'too_large' && row !== undefined && others.length === 0) {
    const tooSmall = `the record of ${row.key} has ${bytesOf(row)} bytes, more than max.message.bytes of its topic (${row.topic}) takes`;
    return new PublishError(code, `${message}: ${tooSmall}`, { cause: err });
  }
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
