import { CliError, exitCodes } from './cli-error.ts';
import { formatTable } from './format-table.ts';
import type { CliIo } from './io.ts';
import { askOperator, reasonText } from './operator-call.ts';
import { printable } from './printable.ts';
import { refuseFlags } from './refuse-flags.ts';
import { longestHoldMs } from './rest-client.ts';
import type { SendFlags } from './send-command.ts';
import { withKey } from './with-key.ts';

export interface CancelFlags extends SendFlags {
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

/** They choose among the open orders. */
export const selectingFlags = ['symbol', 'side', 'principal', 'ref'] as const;

/**
 * `cancel --all`: a command for each open order of the account, or of every account, that the flags select. The key names the sweep: the same one again sends nothing twice, and tells what has
 * come of it.
 */
export async function cancelAll(io: CliIo, order: string | undefined, flags: CancelFlags): Promise<void> {
  if (order !== undefined) throw usage('give an order or --all, not both');
  if (flags.reason === undefined) throw usage('--all needs --reason: it is recorded');
  refuseFlags(flags, ['prediction', 'ifRevision', 'wait'], 'does not go with --all: open orders are cancelled on both streams');
  const key = flags.idempotencyKey ?? io.random.uuid();
  if (flags.idempotencyKey === undefined) io.stderr.write(`idempotency key ${key}\n`);
  const asked = { ...flags, reason: reasonText(flags.reason) };
  const { symbol, side, principal, ref: reference } = flags;
  // What is undefined is not in the JSON.
  const also = { ...(flags.leaveLanding && { onLanding: 'leave' }), symbol, side, principal, reference };
  const isSelective = selectingFlags.some((name) => flags[name] !== undefined);
  const sent = { headers: { 'idempotency-key': key }, waitMs: longestHoldMs, also };
  const { body } = await askOperator(io, asked, 'cancel-all', sent).catch((error: unknown) => {
    throw withKey(error, key);
  });
  const [orders, declined] = [rows(body['orders']), rows(body['declined'])];
  const [places, unread] = [rows(body['places']), rows(body['unread'])];
  if (flags.json) io.stdout.write(`${JSON.stringify({ ...body, idempotencyKey: key })}\n`);
  else io.stdout.write(tableOf([...orders, ...places, ...unread, ...declined], isSelective));
  if (body['open'] === true && !flags.json)
    io.stderr.write('something may still be open; the same line with its key tells more\n');
  const outcomes = [...orders, ...declined].map(({ outcome }) => outcome);
  const isUnresolved =
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

/** Orders, then unresolved places, then accounts that were not read or of which no order was cancelled, with the reason. */
function tableOf(all: readonly Row[], isSelective: boolean): string {
  if (all.length === 0) return isSelective ? 'No open order matches.\n' : 'No order is open.\n';
  const lines = all.map(({ accountId, stream, orderId, outcome, code, commandId }) =>
    [accountId, stream ?? '-', orderId ?? '-', outcome ?? code, commandId ?? '-'].map((cell) => printable(String(cell))),
  );
  return formatTable([['ACCOUNT', 'STREAM', 'ORDER', 'OUTCOME', 'COMMAND'], ...lines]);
}

function usage(message: string): CliError {
  return new CliError(message, { code: 'USAGE', exitCode: exitCodes.usage });
}
