import { Command, InvalidArgumentError } from 'commander';
import type { CliIo } from './io.ts';
import { plural } from './plural.ts';
import { printable } from './printable.ts';
import { addRestFlags, type RestFlags, restClient, restExitCodes } from './rest-flags.ts';

const examples = `
Examples:
  $ tidemark cancel-after 30                          every account of the token that is followed now
  $ tidemark cancel-after 30 --account SIM-1001 SIM-1002
  $ tidemark cancel-after 0                           disarms

Each call renews the timers; call at a third of the time, so that two may fail. What is armed outlives this program and restarts of the service.
${restExitCodes}`;

const longestSeconds = 86_400;

interface CancelAfterFlags extends RestFlags {
  readonly account?: readonly string[];
}

/** The dead man's switch: one call arms, renews or disarms it. */
export function cancelAfterCommand(io: CliIo): Command {
  const command = new Command('cancel-after')
    .description('Has every open order cancelled unless it is called again in time: the dead man’s switch.')
    .argument('<seconds>', 'cancel when no further call has come for so long; 0 disarms', wholeSeconds)
    .option('--account <id...>', 'only these accounts; without it every account of the token that is followed now');
  return addRestFlags(command)
    .addHelpText('after', examples)
    .action(async (seconds: number, flags: CancelAfterFlags) => {
      const { body } = await restClient(io, flags).ask({
        method: 'POST',
        path: '/v1/cancel-after',
        body: { seconds, accountIds: flags.account },
      });
      io.stdout.write(flags.json ? `${JSON.stringify(body)}\n` : said(body));
    });
}

function wholeSeconds(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= longestSeconds) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number of seconds, 0 to ${longestSeconds}.`);
}

/** Names the accounts: the orders of others stay. */
function said({ accountIds, firesAt }: Readonly<Record<string, unknown>>): string {
  const accounts = Array.isArray(accountIds) ? accountIds.map((id) => printable(String(id))) : [];
  const of = `${plural(accounts.length, 'account')}: ${accounts.join(' ')}`;
  return firesAt === undefined
    ? `Disarmed for ${of}\n`
    : `Armed until ${printable(String(firesAt))} for ${of}\nUnless it is renewed by then, their open orders are cancelled.\n`;
}
