import { Command, Option } from 'commander';
import { runLostAnswer } from '../demo/lost-answer/run-lost-answer.ts';
import { type DemoFlags, runDemo } from '../demo/run-demo.ts';
import { addMarketFlags, wholeNumber } from '../demo/stack/start-parts.ts';
import type { CliIo } from './io/io.ts';

const examples = `
Examples:
  $ tidemark demo                          until Ctrl-C
  $ tidemark demo --seconds 20 --json      ends by itself; the last line of stdout is the proof as JSON
  $ tidemark demo --venue alpaca           the same over an emulated Alpaca
  $ tidemark demo --lost-answer            one order by Alpaca's own SDK against one by Tidemark
  $ DATABASE_URL=… KAFKA_BROKERS=… tidemark demo     on parts of your own`;

/** Runs everything at once, on this machine, with a simulated market. */
export function demoCommand(io: CliIo): Command {
  const command = new Command('demo')
    .description(
      'Runs everything on this machine: a real Postgres, a real Kafka, a sandbox platform with live orders, the service, and a consumer.',
    )
    .option('--seconds <n>', 'end by itself after so many seconds of live updates', wholeNumber)
    .addOption(
      new Option(
        '--lost-answer',
        "places one order by Alpaca's own SDK and one by Tidemark, where the answers are lost; needs python3 with pip",
      ).conflicts(['seconds', 'venue', 'rate', 'seed']),
    );
  return addMarketFlags(command)
    .option('--json', 'the last line of stdout is the proof of the run as JSON; everything else goes to stderr')
    .addHelpText('after', examples)
    .action((flags: DemoFlags & { readonly lostAnswer?: true }) =>
      flags.lostAnswer ? runLostAnswer(io, flags) : runDemo(io, flags),
    );
}
