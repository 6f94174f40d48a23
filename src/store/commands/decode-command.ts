import type { Attempt, Baseline, Command } from '../../domain/command.ts';
import { legs, working } from '../../domain/head-shape.ts';
import { orderStatuses, type Stream, streams } from '../../domain/order.ts';
import { type Check, decimal, faultOf, fields, listOf, maybe, object, oneOf, text } from '../../domain/shape.ts';
import { traits } from '../../domain/streams.ts';
import { fromRow, type RowOf, readRow } from '../rows.ts';

type StoredBaseline = Omit<Baseline, 'sourceVersion'> & { readonly sourceVersion?: string };

type StoredAttempt = RowOf<Omit<Attempt, 'epoch'>> & { readonly epoch: string };

/** A command as the SQL function `command_json` writes it. */
export interface StoredCommand extends RowOf<Omit<Command, 'seenPendingAt' | 'baseline' | 'attempts'>> {
  readonly pendingRevision: number | null;
  readonly pendingVersion: string | null;
  readonly baseline: StoredBaseline | null;
  readonly attempts: readonly StoredAttempt[];
  /** Its newest row can't be read, or does not follow the one before it: nothing else is there. */
  readonly fault?: string;
}

/** What is known of a command that can't be read: its columns. */
export interface UnreadableCommand {
  readonly commandId: string;
  readonly accountId: string;
  readonly isFinal: boolean;
  readonly updatedAtMs: number;
  readonly fault: string;
}

const whole: Check = (value) => Number.isSafeInteger(value);
const version = maybe((value) => text(value) && /^\d{1,19}$/.test(value as string));
const terms = {
  ...{ timeInForce: maybe(text), price: maybe(decimal), stopPrice: maybe(decimal), stopPx: maybe(decimal) },
  ...{ expireTime: maybe(text), legs: maybe(legs) },
};
/** By kind, and what its stream trades. */
const byRequest: Readonly<Record<string, Check>> = {
  'place securities': fields({ ...terms, symbol: text, side: text, type: text, qty: decimal }),
  'place predictions': fields({
    ...terms,
    symbol: text,
    outcome: text,
    side: text,
    orderType: text,
    quantity: decimal,
  }),
  'replace securities': fields({ ...terms, quantity: maybe(decimal) }),
  'replace predictions': fields({ ...terms, quantity: maybe(decimal) }),
  'cancel securities': (absent) => absent === undefined,
  'cancel predictions': (absent) => absent === undefined,
};
const reason: Check = (value) => value === null || fields({ code: text, message: text, status: maybe(whole) })(value);
const baseline = fields({
  ...{ revision: whole, sourceEpoch: whole, sourceVersion: version, status: oneOf(...orderStatuses), working },
  ...{ cumQty: decimal, pendingAction: text, rejectReason: maybe(text), rejectText: maybe(text) },
});

const isStream = oneOf(...streams);

/** The columns have types and constraints of their own: only JSON may be of another shape. */
const checks: Partial<Record<keyof StoredCommand, Check>> = {
  request: (value) => {
    const { kind, stream, accountId, orderId, terms: asked } = (object(value) ? value : {}) as Record<string, unknown>;
    const market = isStream(stream) ? traits[stream as Stream].market : undefined;
    return text(accountId) && (kind === 'place' || text(orderId)) && byRequest[`${kind} ${market}`]?.(asked) === true;
  },
  reason,
  baseline: (value) => value === null || baseline(value),
  attempts: listOf(fields({ attemptId: text, number: whole, state: text, epoch: text, preparedAtMs: whole, reason })),
};

/** The way back from Postgres. Throws an `UnreadableRowError` for what no build of ours wrote. */
export function decodeCommand(stored: StoredCommand): Command {
  return readRow('commands', stored.commandId, () => {
    if (stored.fault !== undefined) throw new TypeError(stored.fault);
    const fault = faultOf('command', checks, stored);
    if (fault !== undefined) throw new TypeError(`${fault} is not what it has to be`);
    return toCommand(stored);
  });
}

function toCommand({ pendingRevision, pendingVersion, baseline, attempts, ...stored }: StoredCommand): Command {
  return {
    ...fromRow<Omit<Command, 'attempts'>>({ ...stored, seenPendingAt: null, baseline: null }),
    ...(pendingRevision !== null && {
      seenPendingAt: {
        revision: pendingRevision,
        ...(pendingVersion !== null && { sourceVersion: BigInt(pendingVersion) }),
      },
    }),
    ...(baseline !== null && { baseline: decodeBaseline(baseline) }),
    attempts: attempts.map((attempt) => fromRow<Attempt>({ ...attempt, epoch: BigInt(attempt.epoch) })),
  };
}

function decodeBaseline({ sourceVersion, ...rest }: StoredBaseline): Baseline {
  return sourceVersion === undefined ? rest : { ...rest, sourceVersion: BigInt(sourceVersion) };
}

/** Of `evidence`, for an `Evidence`. */
export const evidenceColumns =
  'number, kind, code, detail, attempt_id as "attemptId", public.time_to_ms(at)::float8 as "atMs"';
