import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { cancelAfterAnswer, cancelAllAnswer } from '../contract/rest-answers.ts';
import { plural } from '../runtime/plural.ts';
import { exitCodes, usage } from '../runtime/program-error.ts';
import { addRevisionFlag, ifMatch, type RevisionFlags, type sentAnswer, sentFields } from './command/sent-command.ts';
import { printable, tableText } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import type { KeyFlags } from './rest/request-key.ts';
import { longestHoldMs } from './rest/rest-client.ts';
import {
  type RestFlags,
  reasonText,
  refuseFlags,
  restExitCodes,
  streamOption,
  tellUnanswered,
  waitSeconds,
} from './rest/rest-flags.ts';
import { commandOf, runVerb, type Verb } from './rest/verb.ts';

const examples = `
Examples:
  $ tidemark cancel 7d0c2f6e-… --account SIM-1001                    an order for equities or options
  $ tidemark cancel 301c73d7-… --account SIM-1001 --prediction --wait 5
  $ tidemark cancel --all --account SIM-1001 --reason "strategy stopped"
  $ tidemark cancel --all --reason "everything stops"                every account; the token must be for all
  $ tidemark cancel --all --symbol AAPL --side buy --principal robot --reason "no more longs of it"

A cancel passes every halt, and is refused here only above a high rate (TIDEMARK_CANCEL_RATE) that no person reaches. One of an order that is believed to have
ended is sent as well: the platform decides, and the answer shows that status.
With --all the accounts are read first. It names the places whose result is not known and the accounts that could not be read, and ends with 75 while something
may be open. Orders that land later are cancelled too. Orders have to match each of --symbol, --side, --principal and --ref that is given; unresolved places as well.
${restExitCodes}`;

interface CancelFlags extends KeyFlags, RevisionFlags {
  /** Left out with `--all`: every account, for which the token needs all of them. */
  readonly account?: string;
  readonly prediction?: true;
  readonly stream?: string;
  readonly all?: true;
  readonly reason?: string;
  readonly leaveLanding?: true;
  readonly symbol?: string;
  readonly side?: 'buy' | 'sell';
  readonly principal?: string;
  readonly ref?: string;
}

/** These flags select among the open orders. */
const selectingFlags = ['symbol', 'side', 'principal', 'ref'] as const;

export const cancelVerb: Verb<typeof sentAnswer, CancelFlags> = {
  name: 'cancel',
  does: 'Cancels an order, or with --all every open order of an account.',
  help: examples,
  route: ['DELETE /v1/orders/{orderId}', 'DELETE /v1/predictions/orders/{orderId}'],
  isSecond: ({ prediction = false }) => prediction,
  takes: [['[order]', 'id of the order']],
  flags: (command) =>
    addRevisionFlag(
      command
        .option(
          '--account <id>',
          'account of the order; with --all left out: every account, for which the token needs all of them',
        )
        .option('--prediction', 'it is a prediction order; without it the order is for equities or options')
        .addOption(streamOption()),
    )
      .option('--all', 'every open order that matches, on both streams; needs --reason')
      .option('--symbol <symbol>', 'with --all: only orders of this symbol')
      .addOption(
        new Option('--side <side>', 'with --all: only orders of this side; a short sale sells').choices([
          'buy',
          'sell',
        ]),
      )
      .option('--principal <name>', 'with --all: only orders that this principal has placed')
      .option(
        '--ref <text>',
        'with --all: only orders with this reference, as the caller gave it or as the platform has it',
      )
      .option('--reason <text>', 'why: recorded with --all', reasonText)
      .option(
        '--leave-landing',
        'with --all: leave the orders of unresolved places that land later; else they are cancelled',
      ),
  ask: ({ account: accountId, prediction, stream, ifRevision }) => ({
    query: { accountId, ...(prediction === undefined && { stream }) },
    headers: ifMatch(ifRevision),
  }),
  ...sentFields,
};

// A service of an earlier version may leave a part out, and the others still count.
const swept = cancelAllAnswer.partial();
type Swept = z.infer<typeof swept>;

/**
 * `cancel --all`: a command for each open order that the flags select. One key names them all: used
 * again it sends nothing twice, and shows the results.
 */
export const cancelAllVerb: Verb<typeof swept, CancelFlags> = {
  name: 'cancel --all',
  does: 'Cancels every open order that matches.',
  route: ['POST /v1/cancel-all', 'POST /v1/accounts/{accountId}/cancel-all'],
  keyed: true,
  ask: ({ reason, leaveLanding, symbol, side, principal, ref: reference }) => ({
    waitMs: longestHoldMs,
    body: { reason, ...(leaveLanding && { onLanding: 'leave' }), symbol, side, principal, reference },
  }),
  about: 'what was cancelled',
  answer: swept,
  text: (answer, flags) =>
    sweepTable(
      answer,
      selectingFlags.some((name) => flags[name] !== undefined) ? 'No open order matches.' : 'No order is open.',
    ),
  end: (io, answer, { json }, { key }) => {
    const { open = false, unread = [], unanswered } = answer;
    if (open && !json)
      io.stderr.write(`something may still be open; run the same line with --idempotency-key ${key} to see more\n`);
    for (const { accountId, stream, detail } of json ? [] : unread)
      io.stderr.write(`${printable(`${accountId} ${stream}: ${detail}`)}\n`);
    const code = tellUnanswered(io, unanswered) ? exitCodes.unresolved : sweepCode(answer);
    if (code !== undefined) io.exit(code);
  },
};

export function cancelCommand(io: CliIo): Command {
  return commandOf<CancelFlags>(cancelVerb, (args, flags) => {
    const [order] = args;
    if (flags.all) {
      refuseForAll(order, flags);
      return runVerb(io, cancelAllVerb, [], flags);
    }
    if (order === undefined || flags.account === undefined)
      throw usage('which order? Give its id and its --account, and --prediction for a prediction order; or --all');
    if (flags.prediction) refuseFlags(flags, ['stream'], 'does not belong to --prediction');
    refuseFlags(flags, ['reason'], 'goes with --all only: nothing would record it');
    refuseFlags(flags, ['leaveLanding'], 'goes with --all only: one order has landed');
    refuseFlags(flags, selectingFlags, 'goes with --all only: one order is named by its id');
    return runVerb(io, cancelVerb, args, flags);
  });
}

function refuseForAll(order: string | undefined, flags: CancelFlags): void {
  if (order !== undefined) throw usage('give an order or --all, not both');
  if (flags.reason === undefined) throw usage('--all needs --reason: it is recorded');
  const sent = ['prediction', 'stream', 'ifRevision', 'wait'] as const;
  refuseFlags(flags, sent, 'does not go with --all: open orders are cancelled on both streams');
}

function sweepCode({ open, orders = [], declined = [] }: Swept): number | undefined {
  const isUnderWay = orders.some(({ result, code }) => result === 'unknown' || code === 'UNDER_WAY');
  if (open === true || isUnderWay) return exitCodes.unresolved;
  const isDone = ({ result }: { readonly result?: string | undefined }) =>
    result === 'accepted' || result === 'applied' || result === 'moot';
  return declined.length > 0 || !orders.every(isDone) ? exitCodes.failed : undefined;
}

type SweptRow = { readonly accountId: string } & {
  readonly [Name in 'stream' | 'orderId' | 'result' | 'code' | 'commandId']?: string | undefined;
};

/** Orders, then unresolved places, then accounts not read or not cancelled, with the reason. */
function sweepTable({ orders = [], places = [], unread = [], declined = [] }: Swept, none: string): string {
  const rows: readonly SweptRow[] = [...orders, ...places, ...unread, ...declined];
  return tableText(
    rows,
    {
      ACCOUNT: 'accountId',
      STREAM: 'stream',
      ORDER: 'orderId',
      RESULT: ({ result, code }) => result ?? code,
      COMMAND: 'commandId',
    },
    none,
  );
}

const cancelAfterExamples = `
Examples:
  $ tidemark cancel-after 30                          every account of the token that is followed now
  $ tidemark cancel-after 30 --account SIM-1001 SIM-1002
  $ tidemark cancel-after 0                           disarms

Each call renews the timers; call at a third of the time, so that two may fail. An armed timer outlives this program and restarts of the service.
${restExitCodes}`;

const longestSeconds = 86_400;

interface CancelAfterFlags extends RestFlags {
  readonly account?: readonly string[];
}

export const cancelAfterVerb: Verb<typeof cancelAfterAnswer, CancelAfterFlags> = {
  name: 'cancel-after',
  does: 'Has every open order cancelled unless it is called again in time: the dead man’s switch.',
  help: cancelAfterExamples,
  route: 'POST /v1/cancel-after',
  takes: [['<seconds>', 'cancel when no further call has come for so long; 0 disarms', waitSeconds(longestSeconds)]],
  flags: (command) =>
    command.option(
      '--account <id...>',
      'only these accounts; without it every account of the token that is followed now',
    ),
  ask: ({ account: accountIds }, [seconds]) => ({ body: { seconds, accountIds } }),
  about: 'the switch',
  answer: cancelAfterAnswer,
  text: describeTimers,
};

/** Names the accounts: orders on other accounts stay. */
function describeTimers({ accountIds, firesAt }: z.infer<typeof cancelAfterAnswer>): string {
  const of = printable(`${plural(accountIds.length, 'account')}: ${accountIds.join(' ')}`);
  return firesAt === undefined
    ? `Disarmed for ${of}\n`
    : `Armed until ${printable(firesAt)} for ${of}\nUnless it is renewed by then, their open orders are cancelled.\n`;
}
