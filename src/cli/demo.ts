import { Command } from 'commander';
import type { DemoFlags } from '../demo/run-demo.ts';
import { runDemo } from '../demo/run-demo.ts';
import { addMarketFlags, wholeNumber } from '../demo/stack/start-parts.ts';
import type { CliIo } from './io/io.ts';

const examples = `
Examples:
  $ tidemark demo                          until Ctrl-C
  $ tidemark demo --seconds 20 --json      ends by itself; the last line of stdout is the proof as JSON
  $ tidemark demo --venue alpaca           the same over an emulated Alpaca
  $ DATABASE_URL=… KAFKA_BROKERS=… tidemark demo     on parts of your own`;

/** Runs everything at once, on this machine, with a simulated market. */
export function demoCommand(io: CliIo): Command {
  const command = new Command('demo')
    .description(
      'Runs everything on this machine: a real Postgres, a real Kafka, a sandbox platform with live orders, the service, and a consumer.',
    )
    .option('--seconds <n>', 'end by itself after so many seconds of live updates', wholeNumber);
  return addMarketFlags(command)
    .option('--json', 'the last line of stdout is the proof of the run as JSON; everything else goes to stderr')
    .addHelpText('after', examples)
    .action((flags: DemoFlags) => runDemo(io, flags));
}
