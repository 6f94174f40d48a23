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
}

/** `cancel --all`: a command for each open order of the account, or of every account. The key names the sweep: the same one again sends nothing twice. */
export async function cancelAll(io: CliIo, order: string | undefined, flags: CancelFlags): Promise<void> {
  if (order !== undefined) throw usage('give an order or --all, not both');
  if (flags.reason === undefined) throw usage('--all needs --reason: it is recorded');
  refuseFlags(
    flags,
    ['prediction', 'ifRevision', 'wait'],
    'does not go with --all: every open order is cancelled, on both streams',
  );
  const key = flags.idempotencyKey ?? io.random.uuid();
  if (flags.idempotencyKey === undefined) io.stderr.write(`idempotency key ${key}\n`);
  const asked = { ...flags, reason: reasonText(flags.reason) };
  const sent = { headers: { 'idempotency-key': key }, waitMs: longestHoldMs };
  const { body } = await askOperator(io, asked, 'cancel-all', sent).catch((error: unknown) => {
    throw withKey(error, key);
  });
  const [orders, declined] = [rows(body['orders']), rows(body['declined'])];
  if (flags.json) io.stdout.write(`${JSON.stringify({ ...body, idempotencyKey: key })}\n`);
  else io.stdout.write(orders.length === 0 && declined.length === 0 ? 'No order is open.\n' : table(orders, declined));
  const outcomes = [...orders, ...declined].map(({ outcome }) => outcome);
  if (outcomes.includes('unknown')) io.exit(exitCodes.unresolved);
  else if (outcomes.some((outcome) => outcome !== 'accepted' && outcome !== 'applied' && outcome !== 'moot'))
    io.exit(exitCodes.failed);
}

type Row = Readonly<Record<string, unknown>>;

function rows(value: unknown): readonly Row[] {
  return Array.isArray(value) ? value : [];
}

/** Accounts of which no order was cancelled stand below, with the reason. */
function table(orders: readonly Row[], declined: readonly Row[]): string {
  const all = [...orders, ...declined].map(({ accountId, stream, orderId, outcome, code, commandId }) =>
    [accountId, stream ?? '-', orderId ?? '-', outcome ?? code, commandId ?? '-'].map((cell) => printable(String(cell))),
  );
  return formatTable([['ACCOUNT', 'STREAM', 'ORDER', 'OUTCOME', 'COMMAND'], ...all]);
}

function usage(message: string): CliError {
  return new CliError(message, { code: 'USAGE', exitCode: exitCodes.usage });
}
