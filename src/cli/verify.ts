import { Command } from 'commander';
import { createMetrics } from '../observability/metrics.ts';
import { plural } from '../runtime/plural.ts';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import { kafkaOptions } from '../service/log/kafka-options.ts';
import { PublishError, type StatePublisher } from '../service/log/publisher.ts';
import { plannedPartitions, stateWriterId, topicNames } from '../service/log/topics.ts';
import { TransactionalPublisher, transactionalPublisherDefaults } from '../service/log/transactional-publisher.ts';
import { type DeadLetters, newestPayloads, writingLanes } from '../store/commands/audit-reads.ts';
import { acceptTopic, topicsNow } from './accept-topic.ts';
import { shaped } from './io/flag-text.ts';
import { clip, printable } from './io/format-text.ts';
import { abortOnSignal, type CliIo, printResult } from './io/io.ts';
import { ProgressBar } from './io/progress-bar.ts';
import { ambientOf, readConfig, requireTopics } from './io/read-config.ts';
import type { Hop, VerifyFinding } from './verify/judge-order.ts';
import { runVerify, type VerifyDeps, type VerifyOptions, type VerifyResult } from './verify/run-verify.ts';
import { lightLoad, withDatabase } from './with-database.ts';

const seconds = shaped(/^\d{1,4}$/, 'It must be whole seconds, at most 9999.', Number);

const examples = `
Examples:
  $ tidemark verify                       database, log and topics side by side
  $ tidemark verify --state-only          without the topic of updates, which is by far the longest
  $ tidemark verify --repair              writes the newest state again where the state topic lacks it
  $ tidemark verify --json | jq '.findings[] | select(.hop == "state") | .key'

It may run beside the service, and reads the topics whole. Exit codes: 0 nothing is missing (or all of it was repaired), 1 something is, or is a dead letter, 75 that is not known: it was interrupted, or a standby lacks what Kafka has.`;

interface VerifyFlags {
  readonly stateOnly?: true;
  readonly repair?: true;
  readonly wait: number;
  readonly json?: true;
}

/** Compares the database, the log and the topics, and names the hop with a loss. */
export function verifyCommand(io: CliIo): Command {
  return new Command('verify')
    .description('Compares the orders, the log and the topics, and names the hop at which something is missing.')
    .option('--state-only', 'leave the topic of updates out')
    .option('--repair', 'write the newest state of the orders that the state topic lacks')
    .option('--wait <seconds>', 'how long to wait for records under way', seconds, 30)
    .option(
      '--json',
      'print { orders, records, deadLetters: { rows, orders }, repaired, findings: [{ hop, key, detail }] } as JSON',
    )
    .addHelpText('after', examples)
    .action((flags: VerifyFlags) => runVerifyCommand(io, flags));
}

async function runVerifyCommand(io: CliIo, flags: VerifyFlags): Promise<void> {
  const config = readConfig(io, ['databaseUrl', 'kafkaBrokers']);
  const deps = ambientOf(io, config);
  const topics = topicNames(config.topicPrefix);
  const { stateOnly = false } = flags;
  await requireTopics(deps, config, stateOnly ? [topics.state] : [topics.state, topics.updates]);
  // As they are before: a topic made again meanwhile lacks everything older.
  const found = flags.repair ? await topicsNow(deps, config) : [];
  using interrupted = abortOnSignal(io, stopped('it was interrupted before it had seen everything'));
  const { topicRetentionDays: retentionDays } = config;
  const options = { kafka: kafkaOptions(config), topics, retentionDays, stateOnly, waitMs: flags.wait * 1_000 };
  // What a standby lacks would be written as the newest state.
  const server = flags.repair ? 'primary' : 'any';
  await withDatabase(io, config, { applicationName: 'tidemark-verify', ...lightLoad, server }, async (pool) => {
    const parts = { ...deps, pool, signal: interrupted.signal, ...progressPrinter(io) };
    const whole = await audit(io, parts, options, flags);
    if (whole && (await acceptTopic(pool, found, 'state')))
      io.stderr.write(
        'The state topic had been made again, and has every state now: that doubt ends within a minute.\n',
      );
  });
}

/** True: the state topic has every state, after a repair. */
async function audit(
  io: CliIo,
  deps: VerifyDeps & { end(): void },
  options: VerifyOptions,
  flags: VerifyFlags,
): Promise<boolean> {
  const result = await runVerify(deps, options).finally(deps.end);
  const repaired = flags.repair ? await repair(deps, options, result).finally(deps.end) : 0;
  printResult(io, flags, { ...result, repaired }, describe(result, repaired, flags), 2);
  const wanted = result.findings.filter(({ hop }) => hop === 'state').length;
  if (flags.repair && deps.signal.aborted && repaired < wanted)
    throw stopped('it was interrupted before everything was written');
  const isLeft = result.deadLetters.rows > 0 || result.findings.some(({ hop }) => !(flags.repair && hop === 'state'));
  const isUnknown = result.deadLetters.rows === 0 && result.findings.every(({ hop }) => hop === 'standby');
  if (isLeft) io.exit(isUnknown ? exitCodes.unresolved : exitCodes.failed);
  return flags.repair === true && repaired >= wanted;
}

function stopped(sentence: string): ProgramError {
  const fix = 'Run it again: it starts over, and writes only the states that are still missing.';
  return new ProgramError(sentence, { code: 'INTERRUPTED', exitCode: exitCodes.unresolved, fix });
}

/** Prints each step on stderr, and on a terminal its progress. */
function progressPrinter(io: CliIo) {
  const bar = new ProgressBar(io);
  return {
    onStep: (sentence: string) => {
      bar.end();
      io.stderr.write(`${sentence} …\n`);
    },
    onProgress: (part: number | undefined, count: number, word: string) => bar.show(part, plural(count, word)),
    end: () => bar.end(),
  };
}

async function repair(deps: VerifyDeps, options: VerifyOptions, { findings }: VerifyResult): Promise<number> {
  const keys = findings.flatMap(({ hop, key }) => (hop === 'state' && key !== undefined ? [key] : []));
  if (keys.length === 0) return 0;
  deps.onStep(`writing ${plural(keys.length, 'order')} to ${options.topics.state}`);
  // A shard may go to another lane meanwhile: what was written for it then
  // counts for nothing, and is written once more.
  const written = new Map<string, number>();
  for (let round = 1; round <= mostTries; round += 1) {
    const lanes = await writingLanes(deps.pool, keys);
    const left = [...lanes.keys()].filter((key) => written.get(key) !== lanes.get(key));
    if (left.length === 0) break;
    for (const [lane, some] of Map.groupBy(left, (key) => lanes.get(key) ?? 0)) {
      const onProgress = (count: number) =>
        deps.onProgress((written.size + count) / keys.length, written.size + count, 'order');
      const publisher = stateWriterOf(lane, deps, options);
      const count = await rewriteState({ ...deps, onProgress, publisher }, some).finally(() => publisher.close());
      for (const key of some.slice(0, count)) written.set(key, lane);
      if (deps.signal.aborted) return written.size;
    }
  }
  return written.size;
}

/** The lane's own writer. It fences the service's until the service opens one again. */
function stateWriterOf(lane: number, deps: VerifyDeps, { kafka, topics }: VerifyOptions): TransactionalPublisher {
  return new TransactionalPublisher(
    { ...deps, metrics: createMetrics().relay },
    {
      kafka,
      topic: topics.state,
      planned: plannedPartitions(topics),
      transactionalId: () => stateWriterId(topics.state, lane),
      ...transactionalPublisherDefaults,
    },
  );
}

/** For each hop: the meaning of a loss there, and its fix. */
const hops: Readonly<Record<Hop, string>> = {
  database:
    'Kafka knows more than the database, which lost commits: run `tidemark after-restore` (docs/runbooks/after-restore.md)',
  standby:
    'Kafka knows more than this server, a standby that may not have these commits yet: audit the primary, which alone shows whether they are lost',
  log: 'the log and the orders differ, which a batch writes together: a table was changed by hand',
  relay: 'Kafka has not acknowledged it to the relay yet: look at `tidemark status`, docs/runbooks/RelayStuck.md',
  updates:
    'it was acknowledged and is not on the topic of updates: the broker lost it, or it was deleted; `tidemark replay` writes it again',
  state: 'the state topic lacks it: `tidemark verify --repair` writes it again',
  foreign:
    'Tidemark did not write it: find the program that writes there, and take away its right to write (docs/repair.md, "Foreign records")',
};

const shown = 20;

function describe(
  { orders, records, findings, deadLetters, standby }: VerifyResult,
  repaired: number,
  { repair: repairing }: VerifyFlags,
): string {
  const lines: string[] = [];
  for (const [hop, meaning] of Object.entries(hops)) {
    const here = findings.filter((finding) => finding.hop === hop);
    if (here.length === 0) continue;
    lines.push(`${hop}: ${meaning}`, ...here.slice(0, shown).map(findingLine));
    if (here.length > shown) lines.push(`  … and ${here.length - shown} more (--json has all)`);
  }
  if (repairing) lines.push(`Wrote the newest state of ${plural(repaired, 'order')}.`);
  if (deadLetters.rows > 0) lines.push(waiting(deadLetters));
  if (standby !== undefined)
    lines.push(`This server is a standby. Its newest commit is of ${standby.replayedAt ?? 'before its start'}.`);
  const verdict =
    findings.length > 0
      ? plural(findings.length, 'finding')
      : `nothing ${deadLetters.rows > 0 ? 'else ' : ''}is missing`;
  lines.push(`${plural(orders, 'order')} and ${plural(records, 'record')} compared: ${verdict}.`);
  return `${lines.join('\n')}\n`;
}

function waiting({ rows, orders }: DeadLetters): string {
  const which = orders === 0 ? 'it is not known which orders these are' : `they name ${plural(orders, 'order')}`;
  return `dead letters: ${plural(rows, 'row')} of the platform could not be read, so what is stored may be behind it; ${which}: \`tidemark dead-letters ls\`, docs/runbooks/DeadLetters.md`;
}

function findingLine({ key, detail }: VerifyFinding): string {
  return `  ${key === undefined ? '' : `${clip(printable(key), 200)}  `}${printable(detail)}`;
}

interface RepairDeps extends Pick<VerifyDeps, 'pool' | 'clock' | 'signal'> {
  /** With the transactional id of the lane's own writer. */
  readonly publisher: StatePublisher;
  readonly onProgress: (written: number) => void;
}

const ordersAtOnce = 500;
const mostTries = 10;
/**
 * A running service takes its topic back within a second or two after a failure; without a pause
 * both would only take turns.
 */
const pauseMs = 1_500;

/**
 * Writes the newest state of orders to the compacted topic, beside a service that may run. The
 * orders are read only once we are the topic's one writer. Nothing newer was written before, and a
 * later writer fences us, so our transaction fails. An older state therefore never lands behind a
 * newer one, as with the service's own writer. Resolves with the number written; rejects with
 * `PublishError` when Kafka did not take them. When the signal aborts it ends early, between two
 * transactions: orders written by then count.
 */
export async function rewriteState(
  { pool, publisher, clock, signal, onProgress }: RepairDeps,
  keys: readonly string[],
): Promise<number> {
  let written = 0;
  let owner = false;
  for (let from = 0; from < keys.length && !signal.aborted; from += ordersAtOnce) {
    const some = keys.slice(from, from + ordersAtOnce);
    for (let tries = 1; ; tries += 1) {
      try {
        if (!owner) await publisher.takeOver();
        owner = true;
        const payloads = await newestPayloads(pool, some);
        await publisher.flush([...payloads].map(([key, payload]) => ({ topic: 'updates', key, payload })));
        written += payloads.size;
        onProgress(written);
        break;
      } catch (error) {
        owner = false;
        if (!(error instanceof PublishError) || tries === mostTries) throw error;
        await clock.sleep(pauseMs, signal);
        if (signal.aborted) return written;
      }
    }
  }
  return written;
}
