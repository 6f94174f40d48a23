import { Command, InvalidArgumentError, Option } from 'commander';
import { plural } from '../runtime/plural.ts';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import { formatTable, printable } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { longestHoldMs } from './rest/rest-client.ts';
import {
  addRestFlags,
  askOperator,
  query,
  type RestFlags,
  reasonText,
  refuseFlags,
  restClient,
  restExitCodes,
  segment,
  tellUnanswered,
  withKey,
} from './rest/rest-flags.ts';
import { addSendFlags, type SendFlags, sendAndPrint } from './rest/send-command.ts';

const examples = `
Examples:
  $ tidemark cancel 7d0c2f6e-… --account SIM-1001                    an order for equities or options
  $ tidemark cancel 301c73d7-… --account SIM-1001 --prediction --wait 5
  $ tidemark cancel --all --account SIM-1001 --reason "strategy stopped"
  $ tidemark cancel --all --reason "everything stops"                every account of the token
  $ tidemark cancel --all --symbol AAPL --side buy --principal robot --reason "no more longs of it"

A cancel passes every halt, and is refused here only above a high rate (TIDEMARK_CANCEL_RATE) that no person reaches. One of an order that is believed to have
ended is sent as well: the platform decides, and the answer shows that status.
With --all the accounts are read first. It names the places whose outcome is not known and the accounts that could not be read, and ends with 75 while something
may be open. Orders that land later are cancelled too. Orders have to match each of --symbol, --side, --principal and --ref that is given; unresolved places as well.
${restExitCodes}`;

/** Cancels an order, or every open order of an account. */
export function cancelCommand(io: CliIo): Command {
  const command = new Command('cancel')
    .description('Cancels an order, or with --all every open order of an account.')
    .argument('[order]', 'id of the order')
    .option('--account <id>', 'account of the order; with --all left out: every account of the token')
    .option('--prediction', 'it is a prediction order; without it the order is for equities or options')
    .option('--if-revision <n>', 'only while the order is at this revision of ours', revision)
    .option('--all', 'every open order that matches, on both streams; needs --reason')
    .option('--symbol <symbol>', 'with --all: only orders of this symbol')
    .addOption(
      new Option('--side <side>', 'with --all: only orders of this side; a short sale sells').choices(['buy', 'sell']),
    )
    .option('--principal <name>', 'with --all: only orders that this principal has placed')
    .option(
      '--ref <text>',
      'with --all: only orders with this reference, as the caller gave it or as the platform has it',
    )
    .option('--reason <text>', 'why: recorded with --all')
    .option(
      '--leave-landing',
      'with --all: leave the orders of unresolved places that land later; else they are cancelled',
    );
  return addSendFlags(command)
    .addHelpText('after', examples)
    .action((order: string | undefined, flags: CancelFlags) => {
      if (flags.all) return cancelAll(io, order, flags);
      if (order === undefined || flags.account === undefined)
        throw new ProgramError(
          'which order? Give its id and its --account, and --prediction for a prediction order; or --all',
          {
            code: 'USAGE',
            exitCode: exitCodes.usage,
          },
        );
      refuseFlags(flags, ['reason'], 'goes with --all only: nothing would record it');
      refuseFlags(flags, ['leaveLanding'], 'goes with --all only: one order has landed');
      refuseFlags(flags, selectingFlags, 'goes with --all only: one order is named by its id');
      const path = flags.prediction ? '/v1/predictions/orders' : '/v1/orders';
      return sendAndPrint(io, flags, {
        method: 'DELETE',
        path: `${path}/${segment(order)}${query({ accountId: flags.account })}`,
        headers: ifMatch(flags.ifRevision),
      });
    });
}

interface CancelFlags extends SendFlags {
  /** Left out with `--all`: every account of the token. */
  readonly account?: string;
  readonly prediction?: true;
  readonly all?: true;
  readonly reason?: string;
  readonly ifRevision?: number;
  readonly leaveLanding?: true;
  readonly symbol?: string;
  readonly side?: 'buy' | 'sell';
  readonly principal?: string;
  readonly ref?: string;
}

/** These flags select among the open orders. */
const selectingFlags = ['symbol', 'side', 'principal', 'ref'] as const;

/**
 * `cancel --all`: a command for each open order of the account, or of every account, that the flags
 * select. The key names the sweep: used again it sends nothing twice, and shows the results.
 */
async function cancelAll(io: CliIo, order: string | undefined, flags: CancelFlags): Promise<void> {
  if (order !== undefined) throw usage('give an order or --all, not both');
  if (flags.reason === undefined) throw usage('--all needs --reason: it is recorded');
  refuseFlags(
    flags,
    ['prediction', 'ifRevision', 'wait'],
    'does not go with --all: open orders are cancelled on both streams',
  );
  const key = flags.idempotencyKey ?? io.random.uuid();
  if (flags.idempotencyKey === undefined) io.stderr.write(`idempotency key ${key}\n`);
  const asked = { ...flags, reason: reasonText(flags.reason) };
  const { symbol, side, principal, ref: reference } = flags;
  // Undefined fields are not in the JSON.
  const also = { ...(flags.leaveLanding && { onLanding: 'leave' }), symbol, side, principal, reference };
  const isSelective = selectingFlags.some((name) => flags[name] !== undefined);
  const sent = { headers: { 'idempotency-key': key }, waitMs: longestHoldMs, also };
  const { body } = await askOperator(io, asked, 'cancel-all', sent).catch((error: unknown) => {
    throw withKey(error, key);
  });
  const [orders, declined] = [rows(body['orders']), rows(body['declined'])];
  const [places, unread] = [rows(body['places']), rows(body['unread'])];
  if (flags.json) io.stdout.write(`${JSON.stringify({ ...body, idempotencyKey: key })}\n`);
  else {
    io.stdout.write(tableOf([...orders, ...places, ...unread, ...declined], isSelective));
    if (body['open'] === true)
      io.stderr.write(`something may still be open; run the same line with --idempotency-key ${key} to see more\n`);
    for (const { accountId, stream, detail } of unread) io.stderr.write(`${accountId} ${stream}: ${detail}\n`);
  }
  const unanswered = tellUnanswered(io, body);
  const outcomes = [...orders, ...declined].map(({ outcome }) => outcome);
  const isUnresolved =
    unanswered ||
    outcomes.includes('unknown') ||
    orders.some(({ code }) => code === 'UNDER_WAY') ||
    (body['open'] === true && places.length + unread.length > 0);
  if (isUnresolved) io.exit(exitCodes.unresolved);
  else if (outcomes.some((outcome) => outcome !== 'accepted' && outcome !== 'applied' && outcome !== 'moot'))
    io.exit(exitCodes.failed);
}

type Row = Readonly<Record<string, unknown>>;

function rows(value: unknown): readonly Row[] {
  return Array.isArray(value) ? value : [];
}

/**
 * Orders, then unresolved places, then accounts that were not read or of which no order was
 * cancelled, with the reason.
 */
function tableOf(all: readonly Row[], isSelective: boolean): string {
  if (all.length === 0) return isSelective ? 'No open order matches.\n' : 'No order is open.\n';
  const lines = all.map(({ accountId, stream, orderId, outcome, code, commandId }) =>
    [accountId, stream ?? '-', orderId ?? '-', outcome ?? code, commandId ?? '-'].map((cell) =>
      printable(String(cell)),
    ),
  );
  return formatTable([['ACCOUNT', 'STREAM', 'ORDER', 'OUTCOME', 'COMMAND'], ...lines]);
}

function usage(message: string): ProgramError {
  return new ProgramError(message, { code: 'USAGE', exitCode: exitCodes.usage });
}

const replaceExamples = `
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
    .description('Changes terms of a working prediction order; terms that are left out stay as they are.')
    .argument('<order>', 'whole id of the order')
    .requiredOption('--account <id>', 'account of the order')
    .option('--qty <decimal>', 'new total quantity')
    .option('--price <decimal>', 'new limit price')
    .option('--stop-price <decimal>', 'new stop price')
    .option('--tif <word>', 'new time in force')
    .option('--expire-time <instant>', 'new expiry of a gtd order')
    .option('--if-revision <n>', 'only while the order is at this revision of ours', revision);
  return addSendFlags(command)
    .addHelpText('after', replaceExamples)
    .action((order: string, flags: ReplaceFlags) =>
      sendAndPrint(io, flags, {
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

function revision(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number above 0.');
}

function ifMatch(at: number | undefined): Readonly<Record<string, string>> {
  return at === undefined ? {} : { 'if-match': `"${at}"` };
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

/** The dead man's switch: one call arms, renews or disarms it. */
export function cancelAfterCommand(io: CliIo): Command {
  const command = new Command('cancel-after')
    .description('Has every open order cancelled unless it is called again in time: the dead man’s switch.')
    .argument('<seconds>', 'cancel when no further call has come for so long; 0 disarms', wholeSeconds)
    .option('--account <id...>', 'only these accounts; without it every account of the token that is followed now');
  return addRestFlags(command)
    .addHelpText('after', cancelAfterExamples)
    .action(async (seconds: number, flags: CancelAfterFlags) => {
      const { body } = await restClient(io, flags).ask({
        method: 'POST',
        path: '/v1/cancel-after',
        body: { seconds, accountIds: flags.account },
      });
      io.stdout.write(flags.json ? `${JSON.stringify(body)}\n` : describeTimers(body));
    });
}

function wholeSeconds(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= longestSeconds) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number of seconds, 0 to ${longestSeconds}.`);
}

/** Names the accounts: the orders of others stay. */
function describeTimers({ accountIds, firesAt }: Readonly<Record<string, unknown>>): string {
  const accounts = Array.isArray(accountIds) ? accountIds.map((id) => printable(String(id))) : [];
  const of = `${plural(accounts.length, 'account')}: ${accounts.join(' ')}`;
  return firesAt === undefined
    ? `Disarmed for ${of}\n`
    : `Armed until ${printable(String(firesAt))} for ${of}\nUnless it is renewed by then, their open orders are cancelled.\n`;
}
