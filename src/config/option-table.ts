import { commandOptions } from './command-options.ts';
import {
  accountIds,
  baseUrl,
  databaseUrl,
  host,
  inGroup,
  integer,
  list,
  milliseconds,
  oneOf,
  onOff,
  overWebSocket,
  secret,
  text,
  url,
} from './option.ts';
import { proxyOptions } from './proxy-options.ts';
import { restOptions } from './rest-options.ts';
import { traceOptions } from './trace-options.ts';
import { venueOptions } from './venue-options.ts';

const pem = { shape: 'PEM text', pattern: /^-----BEGIN [A-Z0-9 ]+-----/ };
const hour = 3_600_000;
const gibibyte = 1_073_741_824;

/**
 * Every option of the program: the only place that names an environment variable. `tidemark config
 * docs` prints it as docs/configuration.md, and `Config` is inferred from it.
 */
export const optionTable = {
  ...inGroup('Process', {
    environment: text({
      env: 'NODE_ENV',
      pattern: /^[\w.-]{1,40}$/,
      shape: 'a word',
      fallback: 'development',
      describe:
        '`production` refuses what is only fit for a test: unencrypted platform addresses that are not on loopback, and TLS without verification.',
    }),
    logLevel: oneOf({
      env: 'TIDEMARK_LOG_LEVEL',
      words: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      fallback: 'info',
      describe:
        'The least serious log line that is written. `debug` also shows the stack of an error that ends a command.',
    }),
    adminPort: integer({
      env: 'TIDEMARK_ADMIN_PORT',
      min: 0,
      max: 65_535,
      fallback: '9464',
      describe: 'Port of `/livez`, `/readyz`, `/status` and `/metrics`. 0 takes any free one, which the log names.',
    }),
    adminHost: host({
      env: 'TIDEMARK_ADMIN_HOST',
      fallback: '127.0.0.1',
      describe:
        'Address that the admin port listens on. It has no sign-in: open it only to the network of Prometheus and of the health checks.',
    }),
    adminNames: list({
      env: 'TIDEMARK_ADMIN_NAMES',
      pattern: /^[0-9A-Za-z.:_[\]-]{1,253}$/,
      shape: 'host names or IP addresses, separated by commas',
      describe:
        'More names by which the admin port may be asked, such as the target of Prometheus without its port. `localhost`, `TIDEMARK_ADMIN_HOST` and the address that a request came to are always good. Any other name gets 421.',
    }),
    drainDeadlineMs: milliseconds({
      env: 'TIDEMARK_DRAIN_DEADLINE_MS',
      min: 1000,
      max: 600_000,
      fallback: '25000',
      describe:
        'Time for the whole drain after SIGTERM. What is left then is given up, and nothing is lost. Keep it below the grace period of the orchestrator.',
    }),
    record: text({
      env: 'TIDEMARK_RECORD',
      pattern: /^[^\0]{1,1000}$/,
      shape: 'the path of a folder',
      describe:
        'Keeps every row of the platform as it came in files of this folder, for `tidemark venue replay` (docs/repair.md): orders, no credentials, readable by the user of the service alone.',
    }),
    recordMb: integer({
      env: 'TIDEMARK_RECORD_MB',
      unit: 'megabytes',
      min: 8,
      max: 1_000_000,
      fallback: '1024',
      describe: 'The most that recordings take; then the oldest files are removed.',
    }),
  }),

  ...inGroup('Postgres', {
    databaseUrl: databaseUrl({
      env: 'DATABASE_URL',
      describe:
        'The database: one address that leads to the primary, also after a failover; a list of hosts is refused. `serve` needs a login that is a member of `tidemark_app`, `migrate` the owner. With TLS: `?sslmode=verify-full` at its end, and `&sslrootcert=PATH` where Node does not know the authority.',
    }),
    databasePoolSize: integer({
      env: 'TIDEMARK_DATABASE_POOL_SIZE',
      unit: 'connections',
      min: 2,
      max: 200,
      fallback: '10',
      describe:
        'The most connections for the reads of REST, and as many for upkeep. The lane (5) and commands (10) have their own.',
    }),
    databaseBudgetMb: integer({
      env: 'TIDEMARK_DATABASE_BUDGET_MB',
      unit: 'megabytes',
      min: 0,
      max: 100_000_000,
      fallback: '0',
      describe:
        'Disk that the database may take, for the alert on free space (docs/capacity.md), since a client cannot see the disk of the server. 0: no budget. Nothing is ever deleted for it.',
    }),
    encryptionKey: secret({
      env: 'TIDEMARK_ENCRYPTION_KEY',
      shape: '32 bytes in base64, as `openssl rand -base64 32` makes them',
      pattern: /^[A-Za-z0-9+/_-]{43}=?$/,
      describe:
        'Encrypts platform tokens in the database. Without it no login can be linked, and the token of the client is encrypted with a key made from its secret.',
    }),
    retentionDays: integer({
      env: 'TIDEMARK_RETENTION_DAYS',
      unit: 'days',
      min: 1,
      max: 3650,
      fallback: '7',
      describe:
        'How long accepted updates stay in the log. A partition is dropped once its newest row is older and Kafka has acknowledged all of it.',
    }),
  }),

  ...inGroup('Kafka', {
    kafkaBrokers: list({
      env: 'KAFKA_BROKERS',
      pattern:
        /^(\[[0-9A-Fa-f:]+\]|[0-9A-Za-z._-]+):([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])$/,
      shape: 'host:port, several separated by commas, an IPv6 address in brackets',
      describe: 'Where to find the cluster. If it is down at start, updates wait in the log.',
    }),
    // For `service/log/topics.ts`.
    topicPrefix: text({
      env: 'TIDEMARK_TOPIC_PREFIX',
      pattern: /^[A-Za-z0-9._-]{0,100}$/,
      shape: 'up to 100 of A-Z a-z 0-9 . _ -',
      fallback: '',
      describe: 'Put before every topic name, such as `desk.`: several installations share a cluster.',
    }),
    topicRetentionDays: integer({
      env: 'TIDEMARK_TOPIC_RETENTION_DAYS',
      unit: 'days',
      min: 1,
      max: 3650,
      fallback: '7',
      describe:
        'How long the topics of updates, watermarks and results keep their records, by the plan of `tidemark topics`. Only `topics apply --delete-records` shortens this time.',
    }),
    kafkaSsl: onOff({
      env: 'KAFKA_SSL',
      fallback: 'off',
      describe:
        "TLS to the brokers, verified against the authorities that Node knows (the system's, too, with `NODE_USE_SYSTEM_CA=1`), or `KAFKA_SSL_CA`.",
    }),
    kafkaSslCa: secret({
      ...pem,
      env: 'KAFKA_SSL_CA',
      describe: "Authority that signed the brokers' certificates.",
    }),
    kafkaSslCert: secret({
      ...pem,
      env: 'KAFKA_SSL_CERT',
      describe: 'Our certificate, where brokers ask for one.',
    }),
    kafkaSslKey: secret({ ...pem, env: 'KAFKA_SSL_KEY', describe: 'The key of `KAFKA_SSL_CERT`.' }),
    kafkaSaslMechanism: oneOf({
      env: 'KAFKA_SASL_MECHANISM',
      words: ['plain', 'scram-sha-256', 'scram-sha-512'],
      describe: 'How to sign in to the brokers; needs `KAFKA_SASL_USERNAME` and `KAFKA_SASL_PASSWORD`.',
    }),
    kafkaSaslUsername: text({
      env: 'KAFKA_SASL_USERNAME',
      pattern: /^.{1,255}$/,
      shape: 'a user name',
      describe: 'User at the brokers.',
    }),
    kafkaSaslPassword: secret({
      env: 'KAFKA_SASL_PASSWORD',
      shape: 'text',
      describe: 'Password at the brokers.',
    }),
  }),

  ...inGroup('Platform', {
    platformUrl: baseUrl({
      env: 'PLATFORM_URL',
      describe: 'Base of the production REST interface; the token endpoint is there too.',
    }),
    platformStagingUrl: baseUrl({
      env: 'PLATFORM_STAGING_URL',
      describe:
        'Base of the staging REST interface, which has the prediction orders. Without it only account orders are followed.',
    }),
    platformAuthUrl: baseUrl({
      env: 'PLATFORM_AUTH_URL',
      describe: 'Base of the sign-in screen, to which `tidemark link` sends users. `doctor` checks that it answers.',
    }),
    platformStreamUrl: url(
      {
        env: 'PLATFORM_STREAM_URL',
        describe: 'Whole address of the order stream in production.',
      },
      overWebSocket,
    ),
    platformStagingStreamUrl: url(
      {
        env: 'PLATFORM_STAGING_STREAM_URL',
        describe: 'Whole address of the stream that carries prediction orders. Without it: the same as in production.',
      },
      overWebSocket,
    ),
    platformClientId: text({
      env: 'PLATFORM_CLIENT_ID',
      pattern: /^[\x21-\x7e]{1,255}$/,
      shape: 'a client id',
      describe: "Client id from the platform's client center.",
    }),
    platformClientSecret: secret({
      env: 'PLATFORM_CLIENT_SECRET',
      shape: 'text',
      describe: "The client's secret. Without it we are a public client, which follows linked logins only.",
    }),
    platformCredentials: oneOf({
      env: 'PLATFORM_CREDENTIALS',
      words: ['both', 'client', 'linked'],
      fallback: 'both',
      describe:
        "Whose accounts are followed: those that the client's own token sees, those of the logins that `tidemark link` has stored, or both. Linked logins need `TIDEMARK_ENCRYPTION_KEY`.",
    }),
    platformAccounts: accountIds({
      env: 'PLATFORM_ACCOUNTS',
      describe: 'Of the accounts that the platform lists, only these are followed. Without it: all of them.',
    }),
  }),
  ...venueOptions,
  ...proxyOptions,

  ...inGroup('Lane', {
    weight: integer({
      env: 'TIDEMARK_WEIGHT',
      min: 0,
      max: 1000,
      fallback: '1',
      describe:
        'The part of the shards that this process takes, in proportion to the weights of the others. 0: it takes none, but serves reads and forwards commands.',
    }),
    leaseRenewMs: milliseconds({
      env: 'TIDEMARK_LEASE_RENEW_MS',
      min: 100,
      max: 60_000,
      fallback: '2000',
      describe: 'How often this process renews its lane.',
    }),
    leaseMarginMs: milliseconds({
      env: 'TIDEMARK_LEASE_MARGIN_MS',
      min: 50,
      max: 119_000,
      fallback: '3000',
      describe: 'How long before the end of its lease this process stops sending, by its own clock.',
    }),
    leaseTtlMs: milliseconds({
      env: 'TIDEMARK_LEASE_TTL_MS',
      min: 200,
      max: 120_000,
      fallback: '6000',
      describe: "Another process takes the lane when its last renewal is older than this by the database's clock.",
    }),
    generation: integer({
      env: 'TIDEMARK_GENERATION',
      min: 1,
      max: 1_000_000,
      fallback: '1',
      describe:
        'The first generation of published records, in a new database. Consumers keep the highest generation and revision. `tidemark after-restore` raises it, to this at least.',
    }),
  }),

  ...inGroup('Ingest and relay', {
    queueMaxCount: integer({
      env: 'TIDEMARK_QUEUE_MAX_COUNT',
      unit: 'observations',
      min: 1,
      max: 1_000_000,
      fallback: '4000',
      describe:
        'Sockets are paused when so many observations wait for the database. The default is a few batches: with more, observations only wait longer, in memory.',
    }),
    queueMaxBytes: integer({
      env: 'TIDEMARK_QUEUE_MAX_BYTES',
      unit: 'bytes',
      min: 65_536,
      max: gibibyte,
      fallback: '33554432',
      describe: 'Sockets are paused when so many bytes wait for the database.',
    }),
    batchMaxCount: integer({
      env: 'TIDEMARK_BATCH_MAX_COUNT',
      unit: 'observations',
      min: 1,
      max: 500,
      fallback: '500',
      describe:
        'The largest batch, which is one transaction. A batch takes what is queued. Smaller batches cost throughput, not latency.',
    }),
    headCacheCount: integer({
      env: 'TIDEMARK_HEAD_CACHE_COUNT',
      unit: 'orders',
      min: 1000,
      max: 10_000_000,
      fallback: '50000',
      describe:
        'Orders whose newest state is kept in memory, about 2 kB each; any other is read from the database when it changes.',
    }),
    stateFlushMs: milliseconds({
      env: 'TIDEMARK_STATE_FLUSH_MS',
      min: 100,
      max: 60_000,
      fallback: '1000',
      describe: 'How often the compacted topic gets the newest state of the orders that changed.',
    }),
  }),

  ...inGroup('Streams and audit', {
    streamPingMs: milliseconds({
      env: 'TIDEMARK_STREAM_PING_MS',
      min: 100,
      max: hour,
      fallback: '5000',
      describe: 'How often we ping a stream. Must be below `TIDEMARK_STREAM_IDLE_MS`.',
    }),
    streamIdleMs: milliseconds({
      env: 'TIDEMARK_STREAM_IDLE_MS',
      min: 200,
      max: hour,
      fallback: '10000',
      describe: 'A stream without a byte for this long is dead, and is opened again.',
    }),
    streamAckMs: milliseconds({
      env: 'TIDEMARK_STREAM_ACK_MS',
      min: 100,
      max: hour,
      fallback: '5000',
      describe: 'Time for the platform to acknowledge a subscription.',
    }),
    auditIntervalMs: milliseconds({
      env: 'TIDEMARK_AUDIT_INTERVAL_MS',
      min: 1000,
      max: 24 * hour,
      fallback: '60000',
      describe: 'How often each account is read and compared, to find what the stream lost silently.',
    }),
    snapshotDays: integer({
      env: 'TIDEMARK_SNAPSHOT_DAYS',
      unit: 'days',
      min: 0,
      max: 3650,
      fallback: '7',
      describe: 'How far back closed orders are read when an account is seen for the first time.',
    }),
    notesMaxBytes: integer({
      env: 'TIDEMARK_NOTES_MAX_BYTES',
      unit: 'bytes',
      min: 65_536,
      max: gibibyte,
      fallback: '67108864',
      describe:
        'Memory of all accounts for notes on orders: what streams bring during audits, orders in doubt or unknown to the platform, frames that wait for a lost store. About 200 bytes a note. When it is used up, audits are made again.',
    }),
    watermarkIntervalMs: milliseconds({
      env: 'TIDEMARK_WATERMARK_INTERVAL_MS',
      min: 1000,
      max: 30_000,
      fallback: '15000',
      describe:
        'How often a heartbeat ("complete up to") goes to the watermark topic: one record for all live accounts of a stream that are complete up to the same time.',
    }),
  }),
  ...restOptions,
  ...commandOptions,
  ...traceOptions,
} as const;

export type OptionTable = typeof optionTable;
export type OptionName = keyof OptionTable;
