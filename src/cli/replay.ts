import { Command, InvalidArgumentError } from 'commander';
import type { Pool } from 'pg';
import type { ConfigWith } from '../config/config.ts';
import { streamPattern } from '../domain/order.ts';
import { isPlatformId } from '../domain/platform-id.ts';
import { present } from '../domain/present.ts';
import { createMetrics } from '../observability/metrics.ts';
import { Backoff } from '../runtime/backoff.ts';
import { plural } from '../runtime/plural.ts';
import { exitCodes, ProgramError, sentenceOf } from '../runtime/program-error.ts';
import type { FoundTopic } from '../service/log/judge-topic-ends.ts';
import { kafkaOptions } from '../service/log/kafka-options.ts';
import { LogPublisher, logPublisherDefaults } from '../service/log/log-publisher.ts';
import { topicNames } from '../service/log/topics.ts';
import { isInLog, logBounds } from '../store/orders/read-log-slice.ts';
import { acceptTopic, topicsNow } from './accept-topic.ts';
import { instantFlag, numberBetween, shaped } from './io/flag-text.ts';
import { abortOnSignal, type CliIo, printResult } from './io/io.ts';
import { ProgressBar } from './io/progress-bar.ts';
import { ambientOf, readConfig, requireTopics } from './io/read-config.ts';
import { type ReplayDeps, type ReplayProgress, runReplay } from './replay/run-replay.ts';
import { lightLoad, withDatabase } from './with-database.ts';

const seqFlag = shaped(/^\d{1,18}$/, 'It must be a whole number.', BigInt);

const examples = `
Examples:
  $ tidemark replay --to risk.rebuild --since 2026-11-20T00:00:00Z
  $ tidemark replay --to risk.rebuild --order prediction:7d0c1d1e-…
  $ tidemark replay --to risk.rebuild --from-seq 120000 --rate 5000
  $ tidemark replay --to tidemark.order-updates.v1 --since 2026-11-20T00:00:00Z --force      updates that the topic lost
  $ tidemark replay --to tidemark.order-updates.v1 --force      all of them, onto a topic that was deleted and made again: its doubt ends

It writes what the log has, byte for byte and in its order, as far back as TIDEMARK_RETENTION_DAYS. Without a start it writes all of it. The topic must exist. Interrupted, it says from which
seq to go on. Onto the live topic of updates only by --force: consumers drop the repeats. Never onto the state topic: there an older state would stay (\`tidemark verify --repair\`).
Exit codes: 0 all of it is written, 1 interrupted, or the log has no updates of that order, 64 a live topic, 69 the database or Kafka does not answer.`;

interface ReplayFlags {
  readonly to: string;
  readonly fromSeq?: bigint;
  readonly since?: number;
  readonly order?: { readonly stream: string; readonly orderId: string };
  readonly rate: number;
  readonly force?: true;
  readonly json?: true;
}

/** Writes updates of the log to a topic, once more. */
export function replayCommand(io: CliIo): Command {
  return new Command('replay')
    .description('Writes updates of the log to a topic once more, in their order.')
    .requiredOption('--to <topic>', 'where to')
    .option('--from-seq <n>', 'from this number of the log on', seqFlag)
    .option('--since <instant>', 'only updates recorded from this instant on (ISO 8601)', instantFlag)
    .option('--order <stream:id>', 'only this order', orderFlag)
    .option('--rate <n>', 'updates a second at most', numberBetween(1, 999_999), 1_000)
    .option('--force', 'also onto the live topic of updates')
    .option('--json', 'print { sent, reachedSeq, complete } as JSON')
    .addHelpText('after', examples)
    .action((flags: ReplayFlags) => replay(io, flags));
}

function orderFlag(text: string): { stream: string; orderId: string } {
  const [, stream = '', orderId = ''] = /^([a-z_]+):(.*)$/.exec(text) ?? [];
  if (!streamPattern.test(stream) || !isPlatformId(orderId))
    throw new InvalidArgumentError('It must be account:<id> or prediction:<id>, as the key of its records is.');
  return { stream, orderId };
}

async function replay(io: CliIo, flags: ReplayFlags): Promise<void> {
  const config = readConfig(io, ['databaseUrl', 'kafkaBrokers']);
  refuseLive(config, flags);
  const deps = ambientOf(io, config);
  const fix = 'Make it, with as many partitions as its readers need; an order stays in one of them.';
  await requireTopics(deps, config, [flags.to], fix);
  // As it is before: one that is made again meanwhile lacks everything older.
  const live = flags.to === topicNames(config.topicPrefix).updates ? await topicsNow(deps, config) : undefined;
  const publisher = new LogPublisher(
    { ...deps, metrics: createMetrics().relay },
    { kafka: kafkaOptions(config), topics: { updates: flags.to }, ...logPublisherDefaults },
  );
  using interrupted = abortOnSignal(io);
  try {
    const server = live === undefined ? 'any' : 'primary';
    await withDatabase(io, config, { applicationName: 'tidemark-replay', ...lightLoad, server }, (pool) =>
      replayLog(io, { pool, publisher, live, signal: interrupted.signal }, flags),
    );
  } finally {
    await publisher.close();
  }
}

async function replayLog(
  io: CliIo,
  deps: {
    readonly pool: Pool;
    readonly publisher: LogPublisher;
    readonly signal: AbortSignal;
    /** The topics, if we write to the live one of updates. */
    readonly live: readonly FoundTopic[] | undefined;
  },
  flags: ReplayFlags,
): Promise<void> {
  const { clock } = io;
  const { since, order, rate } = flags;
  if (order !== undefined && !(await isInLog(deps.pool, order)))
    throw new ProgramError(`the log has no updates of ${order.stream}:${order.orderId}`, {
      code: 'NO_ORDER',
      fix: 'Check the id, and that it is not older than TIDEMARK_RETENTION_DAYS.',
    });
  const { first = 1n, last: upToSeq = 0n } = (await logBounds(deps.pool)) ?? {};
  const { fromSeq = 0n } = flags;
  const afterSeq = (fromSeq > first ? fromSeq : first) - 1n;
  if (fromSeq < first && fromSeq > 0n)
    io.stderr.write(`tidemark: warning: the log begins at ${first}; earlier updates are gone\n`);
  const bar = new ProgressBar(io);
  const whole = Number(upToSeq - afterSeq);
  let last: ReplayProgress = { sent: 0, reachedSeq: afterSeq };
  const onProgress = (progress: ReplayProgress) => {
    last = progress;
    bar.show(
      Number(progress.reachedSeq - afterSeq) / whole,
      `${plural(progress.sent, 'update')}, seq ${progress.reachedSeq}`,
    );
  };
  try {
    // To the live topic the relay sends what it has not sent yet, each behind what it follows.
    const slice = present({ published: deps.live !== undefined, sinceMs: since, order });
    await runReplay({ ...deps, ...patience(io), clock, onProgress }, { slice, afterSeq, upToSeq, rate });
  } catch (error) {
    throw new ProgramError(`it ended after ${plural(last.sent, 'update')}: ${sentenceOf(error)}`, {
      code: 'REPLAY',
      exitCode: exitCodes.unavailable,
      fix: `Go on with --from-seq ${last.reachedSeq + 1n}; consumers drop repeats by their revision.`,
      cause: error,
    });
  } finally {
    bar.end();
  }
  const complete = last.reachedSeq >= upToSeq;
  const isWhole = complete && afterSeq < first && since === undefined && order === undefined;
  const accepted = isWhole && deps.live !== undefined && (await acceptTopic(deps.pool, deps.live, 'updates'));
  const rest = complete ? '.' : `; go on with --from-seq ${last.reachedSeq + 1n}.`;
  const result = { sent: last.sent, reachedSeq: String(last.reachedSeq), complete };
  printResult(io, flags, result, `${plural(last.sent, 'update')} written to ${flags.to}${rest}\n`);
  if (accepted)
    io.stderr.write('The topic had been made again, and has all of the log now: that doubt ends within a minute.\n');
  if (!complete) io.exit(exitCodes.failed);
}

function patience({ random, stderr }: CliIo): Pick<ReplayDeps, 'backoff' | 'onTrouble'> {
  return {
    backoff: new Backoff(random, { firstMs: 200, maxMs: 5_000 }),
    onTrouble: (error) =>
      stderr.write(`tidemark: warning: Kafka accepts no records (${error.message}); trying again\n`),
  };
}

/** Our other topics hold other records, or must not get repeats. */
function refuseLive(config: ConfigWith<'kafkaBrokers'>, { to, force }: ReplayFlags): void {
  const topics = topicNames(config.topicPrefix);
  if (!Object.values(topics).includes(to) || (to === topics.updates && force)) return;
  throw new ProgramError(`${to} is a live topic`, {
    code: 'LIVE_TOPIC',
    exitCode: exitCodes.usage,
    fix:
      to === topics.updates
        ? 'Make a topic of your own; or give --force: its consumers then see every repeat, and drop it.'
        : 'Make a topic of your own. No --force helps here; `tidemark verify --repair` fixes the state topic.',
  });
}
