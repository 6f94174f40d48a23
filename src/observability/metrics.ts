import { collectDefaultMetrics, Registry } from 'prom-client';
import { commandMetrics } from './command-metrics.ts';
import { asSeen, type MetricMaker, metricMaker } from './metric-maker.ts';
import { ingestMetrics, relayMetrics } from './pipeline-metrics.ts';
import { sourceMetrics } from './source-metrics.ts';

/** Why a socket was ended: every place is taken, or its caller asked for too much on it at once. */
export const endReasons = ['full', 'requests'] as const;

/**
 * Equal to `AuthFailure` and `ResetReason` in service/rest/. This room may not import them; a test
 * compares them.
 */
export const authFailureReasons = ['missing', 'malformed', 'unknown_token', 'expired', 'claims', 'signature'] as const;
export const streamResetReasons = ['slow_reader', 'too_old', 'unknown_id'] as const;

const ports = ['rest', 'admin'];

/**
 * Every metric of the service. Base units, timestamps rather than ages, and never a label by order,
 * account or symbol: a label's values are few and known in advance.
 */
export function createMetrics() {
  const registry = new Registry();
  const maker = metricMaker(registry);
  return {
    registry,
    zero: maker.zero,
    source: sourceMetrics(maker),
    ingest: ingestMetrics(maker),
    relay: relayMetrics(maker),
    commands: commandMetrics(maker),
    platform: platformMetrics(maker),
    process: processMetrics(maker),
    rest: restMetrics(maker),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Makes every series exist from the first scrape on. A counter that appears with its first fault
 * has no increase for that fault, and an alert on it stays silent. Timestamps begin at 0, which
 * means "not yet"; rules ask for more than 0. Called once, by a service: the simulator and short
 * commands do not need it.
 */
export function initialiseMetrics(metrics: Metrics, version: string): void {
  metrics.zero();
  metrics.process.buildInfo.set({ version }, 1);
  // Each sample of the event loop's lag wakes the process. With prom-client's default, 10 ms, it
  // was about 100 of the 110 times a second an idle service woke (4 ms of processor a second; with
  // 50 it is 1).
  collectDefaultMetrics({ register: metrics.registry, eventLoopMonitoringPrecision: 50 });
}

function platformMetrics({ counter, gauge, histogram }: MetricMaker) {
  return {
    requestSeconds: histogram(
      'tidemark_platform_request_seconds',
      'Time of one request to the platform; code_class 2xx to 5xx, or none when no answer came',
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.5, 2.5, 5.5, 10.5],
      { operation: asSeen, code_class: asSeen },
    ),
    requestsHeld: counter(
      'tidemark_platform_requests_held_total',
      'Requests to a venue that waited, so that its last ones of the minute stay for those that go first: cancel, probe, place, resync, audit',
      { purpose: ['cancel', 'probe', 'place', 'resync', 'audit'] },
    ),
    tokenExpiry: gauge('tidemark_token_expiry_timestamp_seconds', 'When the first of the access tokens in use expires'),
    credentials: gauge(
      'tidemark_credentials',
      'Credentials in each state: held, waiting, login_required (a person has to sign in)',
      { state: ['held', 'waiting', 'login_required'] },
    ),
    tokenRefresh: counter(
      'tidemark_token_refresh_total',
      'Attempts to get a new access token, by result: ok, refused, failed',
      { result: ['ok', 'refused', 'failed'] },
    ),
  };
}

function processMetrics({ counter, gauge, histogram }: MetricMaker) {
  return {
    httpSeconds: histogram(
      'http_request_duration_seconds',
      'Time of one request that we answered',
      [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.5, 5.5, 30.5],
      { method: asSeen, route: asSeen, code_class: asSeen },
    ),
    connections: gauge(
      'tidemark_http_connections',
      'Open sockets of a port (rest, admin); kind: signed_in, or stranger where no request of theirs has signed in',
      { port: ports, kind: ['stranger', 'signed_in'] },
    ),
    connectionsEnded: counter(
      'tidemark_http_connections_ended_total',
      'Sockets that were ended because every place was taken (full), or because too many requests came on one at once (requests)',
      { port: ports, reason: endReasons },
    ),
    buildInfo: gauge('tidemark_build_info', '1, with the version in its label', { version: asSeen }),
    dbPoolWaiting: gauge('tidemark_db_pool_waiting', 'Callers waiting for a database connection'),
    databaseBytes: gauge('tidemark_database_bytes', 'Disk that the database takes, without its write-ahead log'),
    databaseBudgetBytes: gauge(
      'tidemark_database_budget_bytes',
      'Disk that the database may take (TIDEMARK_DATABASE_BUDGET_MB); 0 where none is set',
    ),
    topicsReplaced: gauge(
      'tidemark_topics_replaced',
      'Topics that are not those that were published to: deleted and made again, or gone',
    ),
    topicsDiffer: gauge(
      'tidemark_topics_differ',
      'Settings of topics other than planned by which records may be lost or refused',
    ),
    clockAhead: gauge(
      'tidemark_clock_ahead_seconds',
      'How far the clock of this process is ahead of another one, by the last comparison; negative: behind',
      { of: asSeen },
    ),
    laneDeadRows: gauge('tidemark_lane_dead_rows', 'Dead versions of the rows of lanes that vacuum has not taken away'),
    logBytes: gauge('tidemark_log_bytes', 'Disk that the log of updates takes, with its indexes'),
  };
}

function restMetrics({ counter, gauge }: MetricMaker) {
  return {
    authFailures: counter(
      'tidemark_rest_auth_failures_total',
      'Requests refused because their token names no caller (401)',
      { reason: authFailureReasons },
    ),
    issuerKeyReads: counter('tidemark_rest_issuer_key_reads_total', 'Reads of the public keys of the issuer of JWTs', {
      result: ['ok', 'failed'],
    }),
    streamClients: gauge('tidemark_rest_stream_clients', 'Readers of GET /v1/stream'),
    streamResets: counter('tidemark_rest_stream_resets_total', 'Readers of the stream that had to read anew', {
      reason: streamResetReasons,
    }),
    readRows: gauge('tidemark_rest_read_rows', 'Rows of reads that are under way (a page of 500 is 500)'),
    readsWaiting: gauge(
      'tidemark_rest_reads_waiting',
      'Reads that wait for room beside the others of their principal, or of all',
    ),
    readsRefused: counter(
      'tidemark_rest_reads_refused_total',
      'Reads answered 429: their principal had too many, or they waited for too long',
    ),
    forwards: counter(
      'tidemark_rest_forwards_total',
      'Requests that another instance had to carry out: answered, unanswered (they may have been carried out) or not_sent',
      { result: ['answered', 'unanswered', 'not_sent'] },
    ),
    heldBytes: gauge('tidemark_rest_held_bytes', 'Answers of reads that sockets have not taken yet'),
    slowReaders: counter(
      'tidemark_rest_slow_readers_total',
      'Connections that were ended because an answer was not taken in time',
    ),
  };
}

export type RestMetrics = ReturnType<typeof restMetrics>;
