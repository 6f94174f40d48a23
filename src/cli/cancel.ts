import { Command, Option } from 'commander';
import { type CancelFlags, cancelAll, selectingFlags } from './cancel-all.ts';
import { CliError, exitCodes } from './cli-error.ts';
import type { CliIo } from './io.ts';
import { refuseFlags } from './refuse-flags.ts';
import { ifMatch, revision } from './replace.ts';
import { query, restExitCodes, segment } from './rest-flags.ts';
import { addSendFlags, sendCommand } from './send-command.ts';

const examples = `
Examples:
  $ tidemark cancel 7d0c2f6e-… --account SIM-1001                    an order for equities or options
  $ tidemark cancel 301c73d7-… --account SIM-1001 --prediction --wait 5
  $ tidemark cancel --all --account SIM-1001 --reason "strategy stopped"
  $ tidemark cancel --all --reason "everything stops"                every account of the token
  $ tidemark cancel --all --symbol AAPL --side buy --principal robot --reason "no more longs of it"

A cancel passes every halt, and is refused here only when the order is known to be closed, or above a high rate (TIDEMARK_CANCEL_RATE) that no person reaches.
With --all the accounts are read first. It names the places whose outcome is not known and the accounts that could not be read, and ends with 75 while something
may be open. What lands later is cancelled too. Orders have to match each of --symbol, --side, --principal and --ref that is given; unresolved places as well.
${restExitCodes}`;

/** Cancels an order, or every open order of an account. */
export function cancelCommand(io: CliIo): Command {
  const command = new Command('cancel')
    .description('Cancels an order, or with --all every open order of an account.')
    .argument('[order]', 'id of the order')
    .option('--account <id>', 'account of the order; with --all left out: every account of the token')
    .option('--prediction', 'it is a prediction order; without it the order is looked for among equities and options')
    .option('--if-revision <n>', 'only while the order is at this revision of ours', revision)
    .option('--all', 'every open order that matches, on both streams; needs --reason')
    .option('--symbol <symbol>', 'with --all: only orders of this symbol')
    .addOption(new Option('--side <side>', 'with --all: only orders of this side; a short sale sells').choices(['buy', 'sell']))
    .option('--principal <name>', 'with --all: only orders that this principal has placed')
    .option('--ref <text>', 'with --all: only orders with this reference, as the caller gave it or as the platform has it')
    .option('--reason <text>', 'why: recorded with --all')
    .option('--leave-landing', 'with --all: leave the orders of unresolved places that land later; else they are cancelled');
  return addSendFlags(command)
    .addHelpText('after', examples)
    .action((order: string | undefined, flags: CancelFlags) => {
      if (flags.all) return cancelAll(io, order, flags);
      if (order === undefined || flags.account === undefined)
        throw new CliError('which order? Give its id and its --account, and --prediction for a prediction order; or --all', {
          code: 'USAGE',
          exitCode: exitCodes.usage,
        });
      refuseFlags(flags, ['reason'], 'goes with --all only: nothing would record it');
      refuseFlags(flags, ['leaveLanding'], 'goes with --all only: one order has landed');
      refuseFlags(flags, selectingFlags, 'goes with --all only: one order is named by its id');
      const path = flags.prediction ? '/v1/predictions/orders' : '/v1/orders';
      return sendCommand(io, flags, {
        method: 'DELETE',
        path: `${path}/${segment(order)}${query({ accountId: flags.account })}`,
        headers: ifMatch(flags.ifRevision),
      });
    });
}
