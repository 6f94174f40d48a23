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
import type { OrderStatus } from '../../domain/order.ts';

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
  readonly settledAtMs: number | null;
  readonly attempts: readonly StoredAttempt[];
}

/** The way back from Postgres. The stored text is ours and is trusted. */
export function decodeCommand(stored: StoredCommand): Command {
  const {
    callerRef,
    supersedes,
    orderId,
    orderStatus,
    reason,
    pendingRevision,
    pendingVersion,
    baseline,
    settledAtMs,
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
    ...(settledAtMs === null ? {} : { settledAtMs }),
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
