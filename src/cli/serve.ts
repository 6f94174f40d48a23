import { Command } from 'commander';
import type { CliIo } from './io.ts';
import { readConfig } from './read-config.ts';
import { assembleService } from './service/assemble-service.ts';
import { serviceLog } from './start-log.ts';

const examples = `
Examples:
  $ tidemark migrate && tidemark topics apply && tidemark serve
  $ DATABASE_URL=… KAFKA_BROKERS=… PLATFORM_URL=… PLATFORM_STREAM_URL=… PLATFORM_CLIENT_ID=… PLATFORM_CLIENT_SECRET_FILE=… tidemark serve

It runs until SIGTERM, drains, and ends with 0; a second signal ends it at once, which loses nothing. \`tidemark config docs\` lists every setting.`;

/** The service itself. */
export function serveCommand(io: CliIo): Command {
  return new Command('serve')
    .description(
      'Follows the order streams, keeps the newest state of every order in Postgres, and feeds every accepted change to Kafka.',
    )
    .addHelpText('after', examples)
    .action(() => runServe(io));
}

async function runServe(io: CliIo): Promise<void> {
  const config = readConfig(io, [
    'databaseUrl',
    'kafkaBrokers',
    'platformUrl',
    'platformStreamUrl',
    'platformClientId',
    'platformClientSecret',
  ]);
  const log = serviceLog(io, config);
  const { clock, random, version } = io;
  const supervisor = assembleService({ clock, random, log, version }, config);
  const unsubscribe = io.onSignal((signal) => supervisor.stop(signal));
  const forget = io.onCrash((error) => log.fatal({ err: error }, 'an error that nobody caught'));
  io.exit(await supervisor.run());
  unsubscribe();
  forget();
}
