import { Command, InvalidArgumentError, Option } from 'commander';
import { type LimitName, limitNames } from '../domain/limits.ts';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import { expectDone } from './approvals.ts';
import { formatTable, printable } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { addReasonFlag, addRestFlags, type RestFlags, restClient, restExitCodes } from './rest/rest-flags.ts';

const examples = `
Examples:
  $ tidemark limits ls
  $ tidemark limits set --account ACC-1 --max-quantity 500 --max-notional 100000 --orders-per-minute 60 --reason "what the desk may do"

${restExitCodes}`;

const setExamples = `
Examples:
  $ tidemark limits set --max-quantity 10000 --orders-per-minute 300 --reason "for all accounts"
  $ tidemark limits set --account ACC-1 --max-quantity 500 --max-notional 100000 --orders-per-minute 60 --reason "what the desk may do"
  $ tidemark limits set --account ACC-1 --principal robot --collar-percent 5 --duplicate-window-ms 2000 --reason "the strategy"
  $ tidemark limits set --account ACC-1 --clear max-notional --reason "not needed any more"

Every row that matches a command holds: a narrower one lifts no bound. Bounds that are not named stay. Cancels are never limited.
${restExitCodes}`;

interface SetFlags extends RestFlags {
  readonly principal?: string;
  readonly account?: string;
  readonly reason: string;
  readonly clear?: readonly string[];
}

type BoundFlags = Readonly<Record<string, unknown>>;

/** The flag of each bound. The service checks the values. */
const boundFlags: Readonly<
  Record<LimitName, { readonly value: string; readonly read: (text: string) => unknown; readonly help: string }>
> = {
  maxQuantity: { value: '<n>', read: String, help: 'shares or contracts of one order' },
  maxNotional: { value: '<money>', read: String, help: 'money of one order' },
  collarPercent: { value: '<n>', read: String, help: 'how far from the last quote a price may lie, in percent' },
  maxQuoteAgeMs: {
    value: '<ms>',
    read: wholeNumber,
    help: 'how old a quote may be; only the row of everyone raises it above 10 s',
  },
  allowedSymbols: {
    value: '<list>',
    read: words,
    help: 'symbols that may be traded, separated by commas, and no others',
  },
  forbiddenSymbols: { value: '<list>', read: words, help: 'symbols that may not be traded' },
  instruments: { value: '<list>', read: words, help: 'instruments that may be traded: equity, option, prediction' },
  maxOpenOrders: { value: '<n>', read: wholeNumber, help: 'open orders of the account' },
  maxSymbolExposure: { value: '<money>', read: String, help: 'money at work in one symbol of the account' },
  maxAccountExposure: { value: '<money>', read: String, help: 'money at work in the account' },
  ordersPerMinute: { value: '<n>', read: wholeNumber, help: 'places and replaces within a minute' },
  duplicateWindowMs: { value: '<ms>', read: wholeNumber, help: 'how long the same place is refused' },
};

/** The limits that places and replaces are checked against before they are journaled. */
export function limitsCommand(io: CliIo): Command {
  return new Command('limits')
    .description('Shows and changes the limits that places and replaces are checked against before they are journaled.')
    .addCommand(listCommand(io))
    .addCommand(setCommand(io))
    .addHelpText('after', examples);
}

function listCommand(io: CliIo): Command {
  return addRestFlags(new Command('ls').description('Lists the limits, one row for each principal and account.'))
    .addHelpText('after', `\n${restExitCodes}`)
    .action(async (flags: RestFlags) => {
      const { body } = await restClient(io, flags).ask({ method: 'GET', path: '/v1/limits' });
      io.stdout.write(flags.json ? `${JSON.stringify(body)}\n` : limitTable(body['items']));
    });
}

function setCommand(io: CliIo): Command {
  const command = new Command('set')
    .description('Sets or clears bounds of all callers, a principal, an account, or a principal on an account.')
    .option('--principal <name>', 'only commands of this principal')
    .option('--account <id>', 'only commands on this account');
  for (const name of limitNames) {
    const { value, read, help } = boundFlags[name];
    command.addOption(new Option(`--${flagOf(name)} ${value}`, help).argParser(read));
  }
  command.addOption(new Option('--clear <limits>', 'bounds to take away, separated by commas').argParser(words));
  return addReasonFlag(command)
    .addHelpText('after', setExamples)
    .action(async (flags: SetFlags & BoundFlags) => {
      const { principal, account: accountId, reason } = flags;
      const body = {
        ...(principal !== undefined && { principal }),
        ...(accountId !== undefined && { accountId }),
        bounds: boundsOf(flags),
        reason,
      };
      const answer = expectDone(await restClient(io, flags).ask({ method: 'PATCH', path: '/v1/limits', body }));
      io.stdout.write(flags.json ? `${JSON.stringify(answer.body)}\n` : limitTable(answer.body['items']));
    });
}

function boundsOf(flags: SetFlags & BoundFlags): Readonly<Record<string, unknown>> {
  const cleared = (flags.clear ?? []).map((word) => {
    const name = limitNames.find((each) => flagOf(each) === word || each === word);
    if (name === undefined) throw wrongCall(`there is no limit ${printable(word)}`);
    return [name, null] as const;
  });
  const set = limitNames.filter((name) => flags[name] !== undefined).map((name) => [name, flags[name]] as const);
  if (cleared.length + set.length === 0) throw wrongCall('name at least one limit');
  return Object.fromEntries([...cleared, ...set]);
}

function limitTable(items: unknown): string {
  const rows = Array.isArray(items) ? items : [];
  if (rows.length === 0) return 'There are no limits.\n';
  return formatTable([
    ['PRINCIPAL', 'ACCOUNT', 'LIMIT', 'BOUND', 'BY', 'REASON'],
    ...rows.flatMap(({ principal, accountId, bounds, changedBy, reason }) =>
      Object.entries(bounds as object).map(([name, bound]) =>
        [principal ?? '*', accountId ?? '*', name, String(bound), changedBy, reason].map((cell) =>
          printable(String(cell)),
        ),
      ),
    ),
  ]);
}

/** `maxQuoteAgeMs` → `max-quote-age-ms`. */
function flagOf(name: LimitName): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function wrongCall(message: string): ProgramError {
  return new ProgramError(message, { code: 'USAGE', exitCode: exitCodes.usage });
}

function words(text: string): readonly string[] {
  return text.split(',').filter((word) => word !== '');
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
