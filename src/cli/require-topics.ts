import type { ConfigWith } from '../config/config.ts';
import { type AdminDeps, withAdmin } from '../kafka/with-admin.ts';
import { CliError, exitCodes } from './cli-error.ts';
import { kafkaOptions } from './kafka-options.ts';
import { sentenceOf } from './report-error.ts';

const ofOurs = 'Run `tidemark topics apply`, or set TIDEMARK_TOPIC_PREFIX as the service has it.';

/** Throws what to do where the brokers do not answer, or one of the topics is not there, before anything else is begun. */
export async function requireTopics(
  deps: AdminDeps,
  config: ConfigWith<'kafkaBrokers'>,
  topics: readonly string[],
  mend: string = ofOurs,
): Promise<void> {
  const there = await withAdmin(deps, kafkaOptions(config), (admin) => admin.listTopics()).catch((error: unknown) => {
    throw new CliError(`Kafka does not answer: ${sentenceOf(error)}`, {
      code: 'KAFKA',
      exitCode: exitCodes.unavailable,
      mend: `Check KAFKA_BROKERS (${config.kafkaBrokers.join(', ')}); \`tidemark doctor\` asks each broker.`,
      cause: error,
    });
  });
  const missing = topics.find((topic) => !there.includes(topic));
  if (missing === undefined) return;
  throw new CliError(`the topic ${missing} does not exist`, { code: 'NO_TOPIC', exitCode: exitCodes.unavailable, mend });
}
