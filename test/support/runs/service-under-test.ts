import { inject } from 'vitest';
import { parseSamples, type Sample, sumOf } from '../../../bench/prometheus-text.ts';
import { proofStatementMs, proveRun, type RunProof, visibleAccounts } from '../../../src/demo/proof/prove-run.ts';
import { TopicCounts } from '../../../src/demo/proof/topic-counts.ts';
import type { AlpacaDescription } from '../../../src/sandbox/alpaca/describe-alpaca.ts';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import type { TopicNames } from '../../../src/service/log/topics.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { atEnd } from '../commands/at-end.ts';
import { freshDatabase } from '../servers/database.ts';
import { freshTopics, readAll } from '../servers/kafka-fixture.ts';
import { prefixOf } from '../servers/topics.ts';
import { eventually } from './poll.ts';
import { silentLog } from './silent-log.ts';
import { type LogLine, TidemarkProcess } from './tidemark-process.ts';

/**
 * Where a service under test finds its parts. What is left out
 * comes from the run's own Postgres and Kafka.
 */
interface WorldOptions {
  readonly databaseUrl?: string;
  readonly brokers?: readonly string[];
  /** The addresses and the client of the platform, as settings. */
  readonly platform: Readonly<Record<string, string>>;
  /** Further settings, over the quick ones. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Quicker than in earnest, so that a test need not wait: a lease that a killed holder loses in 2 s,
 * an audit every 2 s. The proportions stay (renew < act < expire).
 */
const quick = {
  TIDEMARK_LEASE_RENEW_MS: '400',
  TIDEMARK_LEASE_MARGIN_MS: '800',
  TIDEMARK_LEASE_TTL_MS: '2000',
  TIDEMARK_AUDIT_INTERVAL_MS: '2000',
  TIDEMARK_STREAM_PING_MS: '1000',
  TIDEMARK_STREAM_IDLE_MS: '4000',
  TIDEMARK_WATERMARK_INTERVAL_MS: '2000',
};

/** The platform, or Alpaca with its first account. */
export type ProvenSandbox = SandboxDescription | AlpacaDescription;

/** A database and topics of the test's own, for one service or several. */
export class World {
  readonly databaseUrl: string;
  readonly brokers: readonly string[];
  readonly topics: TopicNames;
  /** All that it has served, those that ended too. */
  readonly services: RunningService[] = [];
  private readonly env: Readonly<Record<string, string>>;

  private constructor(
    parts: { databaseUrl: string; brokers: readonly string[]; topics: TopicNames },
    options: WorldOptions,
  ) {
    this.databaseUrl = parts.databaseUrl;
    this.brokers = parts.brokers;
    this.topics = parts.topics;
    this.env = {
      ...quick,
      DATABASE_URL: parts.databaseUrl,
      KAFKA_BROKERS: parts.brokers.join(','),
      TIDEMARK_TOPIC_PREFIX: prefixOf(parts.topics),
      TIDEMARK_ADMIN_PORT: '0',
      TIDEMARK_HTTP_PORT: '0',
      ...options.platform,
      ...options.env,
    };
  }

  static async create(options: WorldOptions): Promise<World> {
    const brokers = options.brokers ?? inject('kafkaBrokers');
    const databaseUrl = options.databaseUrl ?? (await ownDatabase());
    return new World({ databaseUrl, brokers, topics: await freshTopics(brokers) }, options);
  }

  /** `tidemark serve` in a process of its own, ended with the test or with its file. */
  async serve(env: Readonly<Record<string, string>> = {}, entry?: string): Promise<RunningService> {
    const service = new RunningService(await this.run(['serve'], env, entry));
    this.services.push(service);
    return service;
  }

  /** Any command of the program on this world's parts; `entry` is that of another build. */
  run(args: readonly string[], env: Readonly<Record<string, string>> = {}, entry?: string): Promise<TidemarkProcess> {
    return TidemarkProcess.start(args, { ...this.env, ...env }, entry);
  }

  /** Rows of a statement, on a connection of its own. */
  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const pool = this.pool();
    try {
      return (await pool.query<Row>(text, [...values])).rows;
    } finally {
      await pool.end();
    }
  }

  /**
   * Ledger, database and topic side by side, as they are now; the
   * topic read whole by a new consumer.
   */
  async proof(sandbox: ProvenSandbox): Promise<RunProof> {
    const isAlpaca = 'venue' in sandbox;
    const accounts = isAlpaca
      ? new Set(sandbox.accounts.slice(0, 1).map(({ accountNumber }) => accountNumber))
      : await visibleAccounts(fetch, sandbox);
    const stream = isAlpaca ? 'alpaca_paper' : 'account';
    const counts = new TopicCounts();
    for (const { partition, value } of await readAll(this.brokers, this.topics.updates)) {
      if (value !== undefined) counts.addUpdate(partition, value);
    }
    const pool = this.pool();
    try {
      return await proveRun({ pool, fetch, counts }, { control: sandbox.control, accounts, stream });
    } finally {
      await pool.end();
    }
  }

  /**
   * Waits until nothing is under way any more, and returns the proof. The market must be at rest
   * and healed. Throws with what is still missing.
   */
  resolvedProof(sandbox: ProvenSandbox, deadlineMs = 120_000): Promise<RunProof> {
    return eventually(
      async () => {
        const proof = await this.proof(sandbox);
        if (proof.lost > 0 || proof.consumed !== proof.updates)
          throw new Error(`not resolved: ${JSON.stringify(proof)}`);
        return proof;
      },
      { deadlineMs, everyMs: 500 },
    );
  }

  private pool() {
    return createPool(
      { log: silentLog },
      { url: this.databaseUrl, applicationName: 'tidemark-test', maxConnections: 2, statementMs: proofStatementMs },
    );
  }
}

/** A service that was started. Its admin address is known once it has said so in its log. */
export class RunningService {
  readonly process: TidemarkProcess;

  constructor(process: TidemarkProcess) {
    this.process = process;
  }

  async adminAddress(): Promise<string> {
    const line = await this.process.awaitLog('the admin port', ({ msg }) => msg === 'admin port open');
    return String(line['address']);
  }

  /** Where REST answers. */
  async restAddress(): Promise<string> {
    const line = await this.process.awaitLog('the port of REST', ({ msg }) => msg === 'REST port open');
    return String(line['address']);
  }

  async metrics(): Promise<readonly Sample[]> {
    return parseSamples(await (await fetch(`${await this.adminAddress()}/metrics`)).text());
  }

  /** Body of `/status`. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what came, as an operator would
  async status(): Promise<any> {
    return (await fetch(`${await this.adminAddress()}/status`)).json();
  }

  /** `/readyz` with every check, and its HTTP status. `query`: further words, as `role=leader`. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what came, as a probe would
  async ready(query = ''): Promise<{ readonly code: number; readonly body: any }> {
    const response = await fetch(`${await this.adminAddress()}/readyz?verbose&${query}`);
    return { code: response.status, body: await response.json() };
  }

  /** Until every account that it follows is live, or not enrolled where that is its nature. */
  waitLive(deadlineMs = 120_000): Promise<void> {
    return eventually(
      async () => {
        this.assertRunning();
        const samples = await this.metrics();
        const count = (state: string) => sumOf(samples, 'tidemark_source_state', { state });
        const live = count('live');
        const all = sumOf(samples, 'tidemark_source_state', {}) - count('not_enrolled');
        if (live === 0 || live < all) throw new Error(`${live} of ${all} live\n${this.process.tail()}`);
      },
      { deadlineMs, everyMs: 50 },
    );
  }

  /** Until a metric, summed over the series that have the labels, is at least so much. */
  waitMetric(
    name: string,
    labels: Readonly<Record<string, string>>,
    least: number,
    deadlineMs = 120_000,
  ): Promise<number> {
    return eventually(
      async () => {
        this.assertRunning();
        const value = sumOf(await this.metrics(), name, labels);
        if (value < least) throw new Error(`${name}${JSON.stringify(labels)} is ${value}, below ${least}`);
        return value;
      },
      { deadlineMs, everyMs: 50 },
    );
  }

  awaitLog(what: string, wanted: (line: LogLine) => boolean, deadlineMs?: number): Promise<LogLine> {
    return this.process.awaitLog(what, wanted, deadlineMs);
  }

  kill9(): Promise<void> {
    return this.process.kill9();
  }

  /** By SIGTERM; resolves with the exit code. */
  stop(): Promise<number> {
    this.process.signal('SIGTERM');
    return this.process.exited;
  }

  private assertRunning(): void {
    if (!this.process.running) throw new Error(`the service ended by itself:\n${this.process.tail()}`);
  }
}

/** What a proof must say of a run in which nothing went wrong for good. */
export const nothingWrong = { lost: 0, doubled: 0, outOfOrder: 0, faults: [] };

async function ownDatabase(): Promise<string> {
  const database = await freshDatabase();
  atEnd(() => database.drop());
  return database.url;
}
