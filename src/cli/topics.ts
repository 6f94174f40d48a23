import { Argument, Command } from 'commander';
import { plural } from '../runtime/plural.ts';
import { exitCodes } from '../runtime/program-error.ts';
import type { TopicKind } from '../service/log/judge-topic-ends.ts';
import { kafkaOptions } from '../service/log/kafka-options.ts';
import { applyTopics, planTopics, type TopicPlan, topicFindings, withoutRight } from '../service/log/plan-topics.ts';
import { topicNames, topicSpecs } from '../service/log/topics.ts';
import { withAdmin } from '../service/log/with-admin.ts';
import { acceptTopic, topicsNow } from './accept-topic.ts';
import { type CliIo, printResult } from './io/io.ts';
import { ambientOf, kafkaFault, readConfig, requireTopics } from './io/read-config.ts';
import { withDatabase } from './with-database.ts';

const examples = `
Examples:
  $ tidemark topics plan               what would be made and altered; changes nothing
  $ tidemark topics plan --check       the same, and exit code 1 when a person has to act
  $ tidemark topics apply              makes missing topics, alters settings; never a partition count
  $ tidemark topics apply --delete-records    also alters what makes Kafka delete records
  $ tidemark topics accept checkpoint     a topic that was deleted and made again is the one that is published to (docs/runbooks/TopicReplaced.md)

Safe to run again.`;

interface TopicsOptions {
  readonly json?: true;
  readonly check?: true;
  readonly deleteRecords?: true;
}

/** `topics plan`, `topics apply` and `topics accept`. */
export function topicsCommand(io: CliIo): Command {
  const command = new Command('topics')
    .description('Compares the topics with the plan, and applies it.')
    .addHelpText('after', examples);
  command
    .command('plan')
    .description('Prints how the topics differ from the plan. Changes nothing.')
    .option('--check', 'exit with 1 when a topic is missing, or differs by which data may be lost or refused')
    .option('--json', 'print { creations, alterations, faults } as JSON')
    .action((options: TopicsOptions) => runTopics(io, options, 'plan'));
  command
    .command('apply')
    .description(
      'Makes missing topics and alters settings. Differences that only a person can fix (a partition count) are printed, with exit code 1.',
    )
    .option('--delete-records', 'also make the changes that let Kafka delete records (a shorter retention)')
    .option('--json', 'print the changes as { creations, alterations, faults } as JSON')
    .action((options: TopicsOptions) => runTopics(io, options, 'apply'));
  command
    .command('accept')
    .description(
      'Ends the doubt about topics that were deleted and made again: what was on them is written again, or given up. Needs DATABASE_URL too.',
    )
    .addArgument(new Argument('<kinds...>', 'which topics').choices(kinds))
    .action((chosen: TopicKind[]) => runAccept(io, chosen));
  return command;
}

const kinds = Object.keys(topicNames('')) as TopicKind[];

async function runAccept(io: CliIo, chosen: readonly TopicKind[]): Promise<void> {
  const config = readConfig(io, ['databaseUrl', 'kafkaBrokers']);
  const names = topicNames(config.topicPrefix);
  const deps = ambientOf(io, config);
  await requireTopics(
    deps,
    config,
    chosen.map((kind) => names[kind]),
  );
  const found = await topicsNow(deps, config);
  await withDatabase(io, config, { applicationName: 'tidemark-topics', maxConnections: 1 }, async (pool) => {
    for (const kind of new Set(chosen)) {
      const accepted = await acceptTopic(pool, found, kind);
      const words = accepted
        ? 'accepted: that doubt ends within a minute'
        : 'nothing to do: it is the topic that was published to';
      io.stdout.write(`${names[kind]}: ${words}.\n`);
    }
  });
}

async function runTopics(io: CliIo, options: TopicsOptions, verb: 'plan' | 'apply'): Promise<void> {
  const config = readConfig(io, ['kafkaBrokers']);
  const specs = topicSpecs(topicNames(config.topicPrefix), config.topicRetentionDays);
  const plan = await withAdmin(ambientOf(io, config), kafkaOptions(config), async (admin) => {
    const found = await planTopics(admin, specs);
    if (verb === 'apply') await applyTopics(admin, found, io.clock, { deleteRecords: options.deleteRecords === true });
    return found;
  }).catch(
    kafkaFault(
      'Kafka does not answer as it should',
      `Check KAFKA_BROKERS (${config.kafkaBrokers.join(', ')}), and that this user may describe, create and alter topics.`,
    ),
  );
  printResult(io, options, plan, describePlan(plan, verb, options), 2);
  const { unready, doubts } = topicFindings(plan);
  const differs = unready.length + doubts.length > 0;
  if (plan.faults.length > 0 || (options.check && differs)) io.exit(exitCodes.failed);
}

function describePlan(plan: TopicPlan, verb: 'plan' | 'apply', { deleteRecords }: TopicsOptions): string {
  const [create, alter] = verb === 'plan' ? ['would make', 'would alter'] : ['made', 'altered'];
  const lines = [
    ...plan.creations.map(
      ({ spec, replication }) =>
        `${create} ${spec.name}: ${plural(spec.partitions, 'partition')}, ${plural(replication, 'replica')}`,
    ),
    ...plan.alterations.flatMap(({ topic, changes }) =>
      changes.map((change) => {
        const { setting, found, wanted, deletes } = change;
        const what = `${topic}: ${setting} from ${found === '' ? '(unset)' : found} to ${wanted}`;
        if (deletes === undefined) return `${alter} ${what}`;
        if (deleteRecords) return `${alter} ${what}, which deletes ${deletes}`;
        return `left ${what}: it would delete ${deletes}; --delete-records makes the change`;
      }),
    ),
    ...plan.notes.map((what) => `note: ${what}`),
    ...plan.unread.map((topic) => `doubt: ${withoutRight(topic)}`),
    ...plan.faults.map((fault) => `fault: ${fault}`),
  ];
  return lines.length === 0 ? 'The topics are as planned; nothing to do.\n' : `${lines.join('\n')}\n`;
}
