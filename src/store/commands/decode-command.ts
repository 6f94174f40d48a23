import type {
  Attempt,
  AttemptState,
  Baseline,
  Command,
  CommandRequest,
  CommandState,
  Evidence,
  EvidenceKind,
  Reason,
} from '../../domain/command.ts';
import { legs, working } from '../../domain/head-shape.ts';
import { type OrderStatus, orderStatuses, type Stream, streams } from '../../domain/order.ts';
import { type Check, decimal, faultOf, fields, listOf, maybe, object, oneOf, text } from '../../domain/shape.ts';
import { traits } from '../../domain/streams.ts';
import { readRow } from '../unreadable-row.ts';

type StoredBaseline = Omit<Baseline, 'sourceVersion'> & { readonly sourceVersion?: string };

interface StoredAttempt {
  readonly attemptId: string;
  readonly number: number;
  readonly state: AttemptState;
  readonly epoch: string;
  readonly preparedAtMs: number;
  readonly sendingAtMs: number | null;
  readonly answeredAtMs: number | null;
  readonly reason: Reason | null;
}

/** A command as the SQL function `command_json` writes it. */
export interface StoredCommand {
  readonly commandId: string;
  readonly shard: number;
  readonly principal: string;
  readonly idempotencyKey: string;
  readonly requestHash: string;
  readonly request: CommandRequest;
  readonly callerRef: string | null;
  readonly supersedes: string | null;
  readonly state: CommandState;
  readonly version: number;
  readonly orderId: string | null;
  readonly orderStatus: OrderStatus | null;
  readonly reason: Reason | null;
  readonly presumedAbsent: boolean;
  readonly pendingRevision: number | null;
  readonly pendingVersion: string | null;
  readonly misses: number;
  readonly baseline: StoredBaseline | null;
  readonly deadlineAtMs: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly resolvedAtMs: number | null;
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

function toCommand(stored: StoredCommand): Command {
  const {
    callerRef,
    supersedes,
    orderId,
    orderStatus,
    reason,
    pendingRevision,
    pendingVersion,
    baseline,
    resolvedAtMs,
    ...rest
  } = stored;
  return {
    ...rest,
    ...(callerRef === null ? {} : { callerRef }),
    ...(supersedes === null ? {} : { supersedes }),
    ...(orderId === null ? {} : { orderId }),
    ...(orderStatus === null ? {} : { orderStatus }),
    ...(reason === null ? {} : { reason }),
    ...(pendingRevision === null
      ? {}
      : {
          seenPendingAt: {
            revision: pendingRevision,
            ...(pendingVersion === null ? {} : { sourceVersion: BigInt(pendingVersion) }),
          },
        }),
    ...(baseline === null ? {} : { baseline: decodeBaseline(baseline) }),
    ...(resolvedAtMs === null ? {} : { resolvedAtMs }),
    attempts: rest.attempts.map(decodeAttempt),
  };
}

function decodeAttempt({ epoch, sendingAtMs, answeredAtMs, reason, ...rest }: StoredAttempt): Attempt {
  return {
    ...rest,
    epoch: BigInt(epoch),
    ...(sendingAtMs === null ? {} : { sendingAtMs }),
    ...(answeredAtMs === null ? {} : { answeredAtMs }),
    ...(reason === null ? {} : { reason }),
  };
}

function decodeBaseline({ sourceVersion, ...rest }: StoredBaseline): Baseline {
  return sourceVersion === undefined ? rest : { ...rest, sourceVersion: BigInt(sourceVersion) };
}

/** A row from `evidence`, by `evidenceColumns`. */
export interface EvidenceRow {
  readonly number: number;
  readonly kind: EvidenceKind;
  readonly code: string;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly attempt_id: string | null;
  readonly at_ms: string;
}

export const evidenceColumns = 'number, kind, code, detail, attempt_id, public.time_to_ms(at) as at_ms';

export function decodeEvidence({ number, kind, code, detail, attempt_id, at_ms }: EvidenceRow): Evidence {
  return { number, kind, code, detail, ...(attempt_id === null ? {} : { attemptId: attempt_id }), atMs: Number(at_ms) };
}
