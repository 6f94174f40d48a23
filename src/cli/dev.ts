import { once } from 'node:events';
import { Command } from 'commander';
import { MissingPartError } from '../demo/devstack/missing-part-error.ts';
import { addMarketFlags, interruption, type Market, type Parts, startParts } from '../demo/stack/start-parts.ts';
import type { CliIo } from './io/io.ts';
import { commandLogger, readConfig } from './io/read-config.ts';

const examples = `
Examples:
  $ tidemark dev                 until Ctrl-C; prints the settings to paste into another terminal
  $ tidemark dev --rate 0        a platform on which only your own orders move

With DATABASE_URL or KAFKA_BROKERS set it uses that Postgres or Kafka, and leaves it running.`;

/**
 * Everything but the service: for developing against it, and for trying each step of a real
 * installation without Docker.
 */
export function devCommand(io: CliIo): Command {
  const command = new Command('dev').description(
    'Runs Postgres, Kafka and a sandbox platform on this machine until Ctrl-C, without the service, and prints the settings to paste.',
  );
  return addMarketFlags(command)
    .addHelpText('after', examples)
    .action((market: Market) => runDev(io, market));
}

async function runDev(io: CliIo, market: Market): Promise<void> {
  const log = commandLogger(io, readConfig(io));
  const say = (line: string) => io.stderr.write(`${line}\n`);
  const { signal } = interruption(io, say);
  const parts = await startParts(io, log, { say, signal });
  try {
    io.stdout.write(await introduce(parts, market));
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await parts.stop();
  }
}

async function introduce({ postgres, kafka, startSandbox }: Parts, market: Market): Promise<string> {
  if (kafka instanceof MissingPartError) throw kafka;
  const sandbox = await startSandbox(market);
  // A given one has a password, and it is not ours to print.
  const given = postgres.kind === 'given';
  const leaves = [...(given ? ['your Postgres'] : []), ...(kafka.kind === 'given' ? ['your Kafka'] : [])];
  return [
    `Postgres  ${postgres.describe}`,
    `Kafka     ${kafka.describe}`,
    `Sandbox   ${sandbox.address}, control port ${sandbox.control}`,
    '',
    'Paste this into another terminal:',
    '',
    ...(given ? ['# DATABASE_URL: yours, as it is set here'] : [`export DATABASE_URL='${postgres.url}'`]),
    `export KAFKA_BROKERS=${kafka.brokers.join(',')}`,
    ...Object.entries(sandbox.settings).map(([name, value]) => `export ${name}=${value}`),
    '# export TIDEMARK_COMMANDS=on        to place orders too',
    '',
    'Then, there:',
    '',
    '  npx tidemark migrate && npx tidemark topics apply && npx tidemark doctor',
    '  npx tidemark serve',
    '',
    leaves.length === 0
      ? 'Ctrl-C here stops all of it, and removes its data.'
      : `Ctrl-C here stops the rest; ${leaves.join(' and ')} and the data there stay.`,
    '',
  ].join('\n');
}
