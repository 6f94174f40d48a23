import { Command, InvalidArgumentError } from 'commander';
import type { DemoFlags } from './demo/run-demo.ts';
import { runDemo } from './demo/run-demo.ts';
import type { CliIo } from './io.ts';

const examples = `
Examples:
  $ tidemark demo                          until Ctrl-C
  $ tidemark demo --seconds 20 --json      ends by itself; the last line of stdout is the proof as JSON
  $ DATABASE_URL=… KAFKA_BROKERS=… tidemark demo     on parts of your own`;

/** Runs everything at once, on this machine, with a simulated market. */
export function demoCommand(io: CliIo): Command {
  return new Command('demo')
    .description(
      'Runs everything on this machine: a real Postgres, a real Kafka, a sandbox platform with live orders, the service, and a consumer.',
    )
    .option('--seconds <n>', 'end by itself after so many seconds of live updates', wholeNumber)
    .option('--rate <n>', 'order changes a second', wholeNumber, 20)
    .option('--seed <n>', 'the same seed makes the same orders', wholeNumber, 1)
    .option('--json', 'the last line of stdout is the proof of the run as JSON; everything else goes to stderr')
    .addHelpText('after', examples)
    .action((flags: DemoFlags) => runDemo(io, flags));
}

function wholeNumber(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
