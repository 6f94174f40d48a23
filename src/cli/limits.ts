import { Command, Option } from 'commander';
import { z } from 'zod';
import { limitList } from '../contract/limit-bodies.ts';
import { type LimitName, limitNames } from '../domain/limits.ts';
import { usage } from '../runtime/program-error.ts';
import { flagName, wholeNumber } from './io/flag-text.ts';
import { printable, tableText } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { type RestFlags, restExitCodes } from './rest/rest-flags.ts';
import { type Verb, verbCommand } from './rest/verb.ts';

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

interface SetFlags extends RestFlags, Readonly<Partial<Record<LimitName, unknown>>> {
  readonly principal?: string;
  readonly account?: string;
  readonly clear?: readonly string[];
}

type BoundFlag = readonly [value: string, read: (text: string) => unknown, help: string];

/** The flag for each bound. The service checks the values. */
const boundFlags: Readonly<Record<LimitName, BoundFlag>> = {
  maxQuantity: ['<n>', String, 'shares or contracts of one order'],
  maxNotional: ['<money>', String, 'money of one order'],
  collarPercent: ['<n>', String, 'how far from the last quote a price may lie, in percent'],
  maxQuoteAgeMs: ['<ms>', wholeNumber, 'how old a quote may be; only the row of everyone raises it above 10 s'],
  allowedSymbols: ['<list>', words, 'symbols that may be traded, separated by commas, and no others'],
  forbiddenSymbols: ['<list>', words, 'symbols that may not be traded'],
  instruments: ['<list>', words, 'instruments that may be traded: equity, option, prediction'],
  maxOpenOrders: ['<n>', wholeNumber, 'open orders of the account'],
  maxSymbolExposure: ['<money>', String, 'money at work in one symbol of the account'],
  maxAccountExposure: ['<money>', String, 'money at work in the account'],
  ordersPerMinute: ['<n>', wholeNumber, 'places and replaces within a minute'],
  duplicateWindowMs: ['<ms>', wholeNumber, 'how long the same place is refused'],
};

const shownLimits = z.object({ items: z.array(limitList.shape.items.element.omit({ changedAt: true })) });

const limitFields = {
  about: 'limits',
  answer: shownLimits,
  text: ({ items }: z.infer<typeof shownLimits>) =>
    tableText(
      items.flatMap(({ bounds, ...of }) => Object.entries(bounds).map(([limit, bound]) => ({ ...of, limit, bound }))),
      {
        PRINCIPAL: ({ principal }) => principal ?? '*',
        ACCOUNT: ({ accountId }) => accountId ?? '*',
        LIMIT: 'limit',
        BOUND: 'bound',
        BY: 'changedBy',
        REASON: 'reason',
      },
      'There are no limits.',
    ),
};

export const limitsLs: Verb<typeof shownLimits> = {
  name: 'ls',
  does: 'Lists the limits, one row for each principal and account.',
  help: `\n${restExitCodes}`,
  route: 'GET /v1/limits',
  ...limitFields,
};

export const limitsSet: Verb<typeof shownLimits, SetFlags> = {
  name: 'set',
  does: 'Sets or clears bounds of all callers, a principal, an account, or a principal on an account.',
  help: setExamples,
  route: 'PATCH /v1/limits',
  flags: addBoundFlags,
  reasoned: true,
  ask: (flags) => ({ body: { principal: flags.principal, accountId: flags.account, bounds: boundsOf(flags) } }),
  ...limitFields,
};

export function limitsCommand(io: CliIo): Command {
  return new Command('limits')
    .description('Shows and changes the limits that places and replaces are checked against before they are journaled.')
    .addCommand(verbCommand(io, limitsLs))
    .addCommand(verbCommand(io, limitsSet))
    .addHelpText('after', examples);
}

function addBoundFlags(command: Command): Command {
  command
    .option('--principal <name>', 'only commands of this principal')
    .option('--account <id>', 'only commands on this account');
  for (const name of limitNames) {
    const [value, read, help] = boundFlags[name];
    command.addOption(new Option(`--${flagName(name)} ${value}`, help).argParser(read));
  }
  return command.addOption(new Option('--clear <limits>', 'bounds to take away, separated by commas').argParser(words));
}

function boundsOf(flags: SetFlags): Readonly<Record<string, unknown>> {
  const cleared = (flags.clear ?? []).map((word) => {
    const name = limitNames.find((each) => flagName(each) === word || each === word);
    if (name === undefined) throw usage(`there is no limit ${printable(word)}`);
    return [name, null] as const;
  });
  const set = limitNames.filter((name) => flags[name] !== undefined).map((name) => [name, flags[name]] as const);
  if (cleared.length + set.length === 0) throw usage('name at least one limit');
  return Object.fromEntries([...cleared, ...set]);
}

function words(text: string): readonly string[] {
  return text.split(',').filter((word) => word !== '');
}
