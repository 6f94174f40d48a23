import { Command, Option } from 'commander';
import { orderStatuses, streams } from '../domain/order.ts';
import { sentenceOf } from '../runtime/program-error.ts';
import { kafkaOptions } from '../service/log/kafka-options.ts';
import { readTopic } from '../service/log/read-topic.ts';
import { topicNames } from '../service/log/topics.ts';
import { positiveNumber } from './io/flag-text.ts';
import { abortOnSignal, type CliIo, writeAtPaceOfReader } from './io/io.ts';
import { ambientOf, readConfig, requireTopics } from './io/read-config.ts';
import { FirstOccurrences, formatUpdate, parseUpdate, type TailFilter, wanted } from './io/tail-records.ts';

/** About as many as a whole line with a long symbol. */
const columnsOfWholeLines = 150;

const examples = `
Examples:
  $ tidemark tail                                      every update from now on
  $ tidemark tail --account ACC-1 --stream account
  $ tidemark tail --symbol AAPL --status filled
  $ tidemark tail --order 66f2d7a4 8476cec1            two orders, each by its id or the end of it that tail shows
  $ tidemark tail --from-beginning --order 66f2d7a4 --json | jq .order.status
  $ tidemark tail --count 10                           ends after ten

A line: time, account, order, revision, status, direction, filled/working quantity, instrument, and what changed: +14 is a
fill, ~14 a rise of the filled quantity that may be several fills; without either, the terms. A terminal of less than
${columnsOfWholeLines} columns gets the end of each id, which --order and orders show take, and lines of at most 100 columns.

It reads the topic as any consumer would, and drops repeats as a consumer should: by order and revision.`;

interface TailOptions extends TailFilter {
  readonly json?: true;
  readonly wide?: true;
  readonly fromBeginning?: true;
  readonly count?: number;
}

/** Prints updates as they arrive on Kafka. */
export function tailCommand(io: CliIo): Command {
  return new Command('tail')
    .description('Prints the updates on Kafka as they arrive, until it is interrupted.')
    .option('--order <ids...>', 'only these orders')
    .option('--account <id>', 'only this account')
    .addOption(new Option('--stream <name>', 'only this stream').choices(streams))
    .option('--symbol <symbol>', 'only this symbol, in any spelling')
    .addOption(new Option('--status <word>', 'only changes to this status').choices([...orderStatuses]))
    .option('--from-beginning', 'print the updates that are already on the topic first')
    .option('--count <n>', 'end after so many', positiveNumber)
    .option('--wide', 'whole ids, and milliseconds, as in a pipe')
    .option('--json', 'one line of JSON for each update, exactly as it is on the topic')
    .addHelpText('after', examples)
    .action((options: TailOptions) => runTail(io, options));
}

/** A filter that nothing matches looks like a command that hangs. */
const quietMs = 2_000;

async function runTail(io: CliIo, options: TailOptions): Promise<void> {
  const config = readConfig(io, ['kafkaBrokers']);
  const deps = ambientOf(io, config);
  const kafka = kafkaOptions(config);
  const topic = topicNames(config.topicPrefix).updates;
  await requireTopics(deps, config, [topic]);
  using interrupted = abortOnSignal(io);
  const quiet = io.clock.after(quietMs, () => io.stderr.write('tidemark: no such update yet; waiting for one\n'));
  const first = new FirstOccurrences();
  let left = options.count ?? Number.POSITIVE_INFINITY;
  const records = readTopic(deps, {
    kafka,
    topic,
    from: options.fromBeginning ? 'beginning' : 'end',
    readCommitted: true,
    signal: interrupted.signal,
    onFailure: (error) => io.stderr.write(`tidemark: ${sentenceOf(error)}; connecting again\n`),
    onJump: ({ partition, from, to }) =>
      io.stderr.write(
        `tidemark: the records of partition ${partition} from offset ${from} on are gone unread; going on at ${to}, where it begins now\n`,
      ),
  });
  try {
    for await (const { value } of records) {
      const update = value === undefined ? undefined : parseUpdate(value);
      if (update === undefined || value === undefined || !first.isFirst(update) || !wanted(update, options)) continue;
      const isWhole = options.wide || (io.columns ?? columnsOfWholeLines) >= columnsOfWholeLines;
      const line = options.json
        ? value
        : formatUpdate(update, isWhole ? 'whole' : 'short', (word) => io.colours.word(word));
      quiet.cancel();
      await writeAtPaceOfReader(io.stdout, `${line}\n`, interrupted.signal);
      left -= 1;
      if (left === 0) break;
    }
  } finally {
    quiet.cancel();
  }
}
