import { Command, InvalidArgumentError } from 'commander';
import { MissingPartError } from '../devstack/missing-part-error.ts';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import type { CliIo } from './io.ts';
import { commandLog, readConfig } from './read-config.ts';
import { type Parts, platformSettings, startParts } from './stack/start-parts.ts';

const examples = `
Examples:
  $ tidemark dev                 until Ctrl-C; prints the settings to paste into another terminal
  $ tidemark dev --rate 0        a platform on which only your own orders move

With DATABASE_URL or KAFKA_BROKERS set it uses that Postgres or Kafka, and leaves it running.`;

interface Flags {
  /** Order changes a second. */
  readonly rate: number;
  readonly seed: number;
}

/** Everything but the service: for developing against it, and for trying each step of a real installation without Docker. */
export function devCommand(io: CliIo): Command {
  return new Command('dev')
    .description(
      'Runs Postgres, Kafka and a sandbox platform on this machine until Ctrl-C, without the service, and prints the settings to paste.',
    )
    .option('--rate <n>', 'order changes a second', wholeNumber, 20)
    .option('--seed <n>', 'the same seed makes the same orders', wholeNumber, 1)
    .addHelpText('after', examples)
    .action((flags: Flags) => runDev(io, flags));
}

async function runDev(io: CliIo, { rate, seed }: Flags): Promise<void> {
  const log = commandLog(io, readConfig(io));
  const asked = new Promise<void>((resolve) => io.onSignal(() => resolve()));
  const parts = await startParts(io, log, (line) => io.stderr.write(`${line}\n`));
  try {
    io.stdout.write(await introduce(parts, ['--rate', String(rate), '--seed', String(seed)]));
    await asked;
  } finally {
    await parts.stop();
  }
}

async function introduce({ postgres, kafka, startSandbox }: Parts, flags: readonly string[]): Promise<string> {
  if (kafka instanceof MissingPartError)
    throw new ProgramError(kafka.message, { code: kafka.code, exitCode: exitCodes.unavailable, cause: kafka });
  const sandbox = await startSandbox(flags);
  // One that was given has a password that is not ours to print.
  const databaseUrl = postgres.kind === 'given' ? '"$DATABASE_URL"' : `'${postgres.url}'`;
  return [
    `Postgres  ${postgres.describe}`,
    `Kafka     ${kafka.describe}`,
    `Sandbox   ${sandbox.platform}, control port ${sandbox.control}`,
    '',
    'Paste this into another terminal:',
    '',
    `export DATABASE_URL=${databaseUrl}`,
    `export KAFKA_BROKERS=${kafka.brokers.join(',')}`,
    ...Object.entries(platformSettings(sandbox)).map(([name, value]) => `export ${name}=${value}`),
    '',
    'Then, there:',
    '',
    '  npx tidemark migrate && npx tidemark topics apply && npx tidemark doctor',
    '  npx tidemark serve',
    '',
    'Ctrl-C here stops all of it, and removes its data.',
    '',
  ].join('\n');
}

function wholeNumber(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
