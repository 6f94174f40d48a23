import { Command, InvalidArgumentError } from 'commander';
import type { CliIo } from './io.ts';
import { restExitCodes, segment } from './rest-flags.ts';
import { addSendFlags, type SendFlags, sendCommand } from './send-command.ts';

const examples = `
Examples:
  $ tidemark replace 7d0c2f6e-… --account SIM-1001 --price 0.45
  $ tidemark replace 7d0c2f6e-… --account SIM-1001 --qty 80 --price 0.45 --wait 10
  $ tidemark replace 7d0c2f6e-… --account SIM-1001 --qty 80 --if-revision 4      refused (412) if it has changed since

Only prediction orders can be replaced; for an account order the platform has cancel and a new order. --qty is the new total, filled part included.
${restExitCodes}`;

interface ReplaceFlags extends SendFlags {
  readonly account: string;
  readonly qty?: string;
  readonly price?: string;
  readonly stopPrice?: string;
  readonly tif?: string;
  readonly expireTime?: string;
  readonly ifRevision?: number;
}

/** Replaces terms of a working prediction order. */
export function replaceCommand(io: CliIo): Command {
  const command = new Command('replace')
    .description('Changes terms of a working prediction order; what is left out stays as it is.')
    .argument('<order>', 'id of the order')
    .requiredOption('--account <id>', 'account of the order')
    .option('--qty <decimal>', 'new total quantity')
    .option('--price <decimal>', 'new limit price')
    .option('--stop-price <decimal>', 'new stop price')
    .option('--tif <word>', 'new time in force')
    .option('--expire-time <instant>', 'new expiry of a gtd order')
    .option('--if-revision <n>', 'only while the order is at this revision of ours', revision);
  return addSendFlags(command)
    .addHelpText('after', examples)
    .action((order: string, flags: ReplaceFlags) =>
      sendCommand(io, flags, {
        method: 'PATCH',
        path: `/v1/predictions/orders/${segment(order)}`,
        headers: ifMatch(flags.ifRevision),
        body: {
          accountId: flags.account,
          quantity: flags.qty,
          price: flags.price,
          stopPx: flags.stopPrice,
          timeInForce: flags.tif?.toLowerCase(),
          expireTime: flags.expireTime,
        },
      }),
    );
}

export function revision(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number above 0.');
}

export function ifMatch(at: number | undefined): Readonly<Record<string, string>> {
  return at === undefined ? {} : { 'if-match': `"${at}"` };
}
