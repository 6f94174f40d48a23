import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { commandMetrics } from './command-metrics.ts';
import { ingestMetrics, relayMetrics } from './pipeline-metrics.ts';
import { sourceMetrics } from './source-metrics.ts';

/**
 * Every metric of the service. Base units, timestamps rather than ages, and never a label by order,
 * account or symbol: a label's values are few and known in advance.
 */
export function createMetrics() {
  const registry = new Registry();
  return {
    registry,
    source: sourceMetrics(registry),
    ingest: ingestMetrics(registry),
    relay: relayMetrics(registry),
    commands: commandMetrics(registry),
    platform: platformMetrics(registry),
    process: processMetrics(registry),
    rest: restMetrics(registry),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

function platformMetrics(registry: Registry) {
  const registers = [registry];
  return {
    requestSeconds: new Histogram({
      name: 'tidemark_platform_request_seconds',
      help: 'Time of one request to the platform; code_class 2xx to 5xx, or none when no answer came',
      labelNames: ['operation', 'code_class'] as const,
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.5, 2.5, 5.5, 10.5],
      registers,
    }),
    tokenExpiry: new Gauge({
      name: 'tidemark_token_expiry_timestamp_seconds',
      help: 'When the first of the access tokens in use expires',
      registers,
    }),
    credentials: new Gauge({
      name: 'tidemark_credentials',
      help: 'Credentials in each state: held, waiting, login_required (a person has to sign in)',
      labelNames: ['state'] as const,
      registers,
    }),
    tokenRefresh: new Counter({
      name: 'tidemark_token_refresh_total',
      help: 'Attempts to get a new access token, by outcome: ok, refused, failed',
      labelNames: ['outcome'] as const,
      registers,
    }),
  };
}

function processMetrics(registry: Registry) {
  const registers = [registry];
  return {
    httpSeconds: new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time of one request that we answered',
      labelNames: ['method', 'route', 'code_class'] as const,
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.5, 5.5, 30.5],
      registers,
    }),
    connections: new Gauge({
      name: 'tidemark_http_connections',
      help: 'Open sockets of a port (rest, admin); kind: signed_in, or stranger where no request of theirs has signed in',
      labelNames: ['port', 'kind'] as const,
      registers,
    }),
    connectionsEnded: new Counter({
      name: 'tidemark_http_connections_ended_total',
      help: 'Sockets that were ended because a share of the places was full: of one address (peer), of all strangers, of one principal, or all (full); or because a stranger sent too many requests on one at once (requests)',
      labelNames: ['port', 'reason'] as const,
      registers,
    }),
    buildInfo: new Gauge({
      name: 'tidemark_build_info',
      help: '1, with the version in its label',
      labelNames: ['version'] as const,
      registers,
    }),
    dbPoolWaiting: new Gauge({
      name: 'tidemark_db_pool_waiting',
      help: 'Callers waiting for a database connection',
      registers,
    }),
    databaseBytes: new Gauge({
      name: 'tidemark_database_bytes',
      help: 'Disk that the database takes, without its write-ahead log',
      registers,
    }),
    databaseBudgetBytes: new Gauge({
      name: 'tidemark_database_budget_bytes',
      help: 'Disk that the database may take (TIDEMARK_DATABASE_BUDGET_MB); 0 where none is set',
      registers,
    }),
    topicsReplaced: new Gauge({
      name: 'tidemark_topics_replaced',
      help: 'Topics that are not those that were published to: deleted and made again, or gone',
      registers,
    }),
    topicsDiffer: new Gauge({
      name: 'tidemark_topics_differ',
      help: 'Settings of topics other than planned by which records may be lost or refused',
      registers,
    }),
    clockAhead: new Gauge({
      name: 'tidemark_clock_ahead_seconds',
      help: 'How far the clock of this process is ahead of another one, by the last comparison; negative: behind',
      labelNames: ['of'] as const,
      registers,
    }),
    laneDeadRows: new Gauge({
      name: 'tidemark_lane_dead_rows',
      help: 'Dead versions of the rows of lanes that vacuum has not taken away',
      registers,
    }),
    logBytes: new Gauge({
      name: 'tidemark_log_bytes',
      help: 'Disk that the log of updates takes, with its indexes',
      registers,
    }),
  };
}

function restMetrics(registry: Registry) {
  const registers = [registry];
  return {
    authFailures: new Counter({
      name: 'tidemark_rest_auth_failures_total',
      help: 'Requests refused because their token names no caller (401)',
      labelNames: ['reason'] as const,
      registers,
    }),
    issuerKeyReads: new Counter({
      name: 'tidemark_rest_issuer_key_reads_total',
      help: 'Reads of the public keys of the issuer of JWTs',
      labelNames: ['outcome'] as const,
      registers,
    }),
    streamClients: new Gauge({
      name: 'tidemark_rest_stream_clients',
      help: 'Readers of GET /v1/stream',
      registers,
    }),
    streamResets: new Counter({
      name: 'tidemark_rest_stream_resets_total',
      help: 'Readers of the stream that had to read anew',
      labelNames: ['reason'] as const,
      registers,
    }),
    readRows: new Gauge({
      name: 'tidemark_rest_read_rows',
      help: 'Rows of reads that are under way (a page of 500 is 500)',
      registers,
    }),
    readsWaiting: new Gauge({
      name: 'tidemark_rest_reads_waiting',
      help: 'Reads that wait for room beside the others of their principal, or of all',
      registers,
    }),
    readsRefused: new Counter({
      name: 'tidemark_rest_reads_refused_total',
      help: 'Reads answered 429: their principal had too many, or they waited for too long',
      registers,
    }),
    forwards: new Counter({
      name: 'tidemark_rest_forwards_total',
      help: 'Requests that another instance had to carry out: answered, unanswered (they may have been carried out) or not_sent',
      labelNames: ['outcome'] as const,
      registers,
    }),
    heldBytes: new Gauge({
      name: 'tidemark_rest_held_bytes',
      help: 'Answers of reads that sockets have not taken yet',
      registers,
    }),
    slowReaders: new Counter({
      name: 'tidemark_rest_slow_readers_total',
      help: 'Connections that were ended because an answer was not taken in time',
      registers,
    }),
  };
}

export type RestMetrics = ReturnType<typeof restMetrics>;
