import type { Decimal } from './decimal.ts';
import type { Leg, OrderStatus, Stream, WorkingTerms } from './order.ts';
import { type StreamWith, traits } from './streams.ts';

export const commandKinds = ['place', 'replace', 'cancel'] as const;
export type CommandKind = (typeof commandKinds)[number];

/**
 * The currency of an order that names none. Assumption: the specification has the field and no
 * default, and it names US instruments. Money in limits is in this currency.
 */
export const platformCurrency = 'USD';

/**
 * The body of `POST /v1/orders` (specification, "Equity or option order request") without
 * `clientId`: our attempt's id takes its place. Decimals canonical.
 */
export interface AccountPlaceTerms {
  readonly symbol: string;
  readonly side: string;
  readonly type: string;
  readonly qty: Decimal;
  readonly timeInForce: string;
  readonly price?: Decimal;
  readonly stopPrice?: Decimal;
  readonly currency?: string;
  readonly exDestination?: string;
  /** Also before and after the regular session. */
  readonly extendedHours?: true | undefined;
  readonly legs?: readonly Leg[];
}

/**
 * The body of `POST /v1/predictions/orders` without `clientOrderRef`: our attempt's id takes its
 * place. Decimals canonical.
 */
export interface PredictionPlaceTerms {
  readonly symbol: string;
  readonly outcome: string;
  readonly side: string;
  readonly orderType: string;
  readonly timeInForce: string;
  readonly quantity: Decimal;
  readonly price?: Decimal;
  readonly stopPx?: Decimal;
  readonly expireTime?: string;
}

/**
 * The body of `PATCH /v1/predictions/orders/{orderId}` (specification, "Replace prediction order
 * request"). A term left out keeps its working value.
 */
export interface ReplaceTerms {
  readonly quantity?: Decimal;
  readonly price?: Decimal;
  readonly stopPx?: Decimal;
  readonly timeInForce?: string;
  readonly expireTime?: string;
}

/** Account orders have no replace in the specification. */
type ReplaceableStream = StreamWith<'replaces', 'in_place' | 'new_order'>;

/** A caller's request. */
export type CommandRequest =
  | {
      readonly kind: 'place';
      readonly stream: StreamWith<'market', 'securities'>;
      readonly accountId: string;
      readonly terms: AccountPlaceTerms;
    }
  | {
      readonly kind: 'place';
      readonly stream: StreamWith<'market', 'predictions'>;
      readonly accountId: string;
      readonly terms: PredictionPlaceTerms;
    }
  | {
      readonly kind: 'replace';
      readonly stream: ReplaceableStream;
      readonly accountId: string;
      readonly orderId: string;
      readonly terms: ReplaceTerms;
    }
  | { readonly kind: 'cancel'; readonly stream: Stream; readonly accountId: string; readonly orderId: string };

export type PlaceRequest = Extract<CommandRequest, { kind: 'place' }>;
export type ReplaceRequest = Extract<CommandRequest, { kind: 'replace' }>;

/**
 * A command's states. `open`: journaled, its attempt not answered yet. The others are results, in
 * the order they are usually reached:
 *
 * - `refused`: the platform (or we) refused before anything existed. `not_sent`: no byte left, or
 *   the platform's documented word is that nothing was sent.
 * - `accepted`: the platform took it; for a place with an `orderId`, the venue has not decided on
 *   its order yet. `unknown`: the result is not known here, and is not guessed.
 * - `applied`: it took effect; for a place, at the venue. `rejected`: it never did. `moot`: the
 *   order ended by other means first. `conflict`: the observations contradict the command; a person
 *   decides.
 */
export const commandStates = [
  'open',
  'refused',
  'not_sent',
  'accepted',
  'unknown',
  'applied',
  'rejected',
  'moot',
  'conflict',
] as const;
export type CommandState = (typeof commandStates)[number];

/** The result callers see. An open command is shown as `unknown`: its result is not known. */
export type ResultWord = Exclude<CommandState, 'open'>;

/** One write to the platform. `abandoned` attempts are `not_sent`. */
export const attemptStates = ['prepared', 'sending', 'not_sent', 'refused', 'rejected', 'accepted', 'unknown'] as const;
export type AttemptState = (typeof attemptStates)[number];

export interface Attempt {
  /** Our reference on the order: `clientId` / `clientOrderRef`. Starts with `attemptPrefix`. */
  readonly attemptId: string;
  /**
   * 1, 2, 3 … within the command; n + 1 exists only when n is `not_sent` (or was refused because
   * its token was too old).
   */
  readonly number: number;
  readonly state: AttemptState;
  /** It was prepared under this epoch of its shard. */
  readonly epoch: bigint;
  readonly preparedAtMs: number;
  /** Committed before the one write. */
  readonly sendingAtMs?: number;
  readonly answeredAtMs?: number;
  readonly reason?: Reason;
}

/**
 * Every attempt id begins so. Ingest looks up only references with this prefix, so foreign orders
 * cost nothing. It is not a proof: only a row in the journal is.
 */
export const attemptPrefix = 'tm-';

/**
 * Why something is as it is: a short stable code, and a sentence for people (cut at 500 characters,
 * no secrets). `status`: the platform's HTTP status, if there was one.
 */
export interface Reason {
  readonly code: string;
  readonly message: string;
  readonly status?: number;
}

/**
 * The order as it was when a replace or cancel for it was journaled. Only updates above it are
 * evidence.
 */
export interface Baseline {
  readonly revision: number;
  readonly sourceEpoch: number;
  readonly sourceVersion?: bigint;
  readonly status: OrderStatus;
  readonly working: WorkingTerms;
  readonly cumQty: Decimal;
  readonly pendingAction: string;
  readonly rejectReason?: string;
  readonly rejectText?: string;
  /** As the order's: another one under its id is none of the command's. */
  readonly incarnation?: number;
  /** As the order's. Absent where an earlier build journaled the command. */
  readonly updatedAt?: string;
}

export interface Command {
  /** A UUID. */
  readonly commandId: string;
  readonly shard: number;
  /** The name of the asking principal. */
  readonly principal: string;
  /** Unique per principal until the command has been final for seven days. */
  readonly idempotencyKey: string;
  /** The request's hash, to distinguish one body from another. */
  readonly requestHash: string;
  readonly request: CommandRequest;
  /** The caller's own reference, carried on the order's updates. */
  readonly callerRef?: string;
  /** This command replaces the presumed absent one. */
  readonly supersedes?: string;
  readonly state: CommandState;
  /** Rises by one with every step: a compare-and-set compares it. */
  readonly version: number;
  /**
   * Place: the order with one of our attempt ids, once one was observed. Replace, cancel: the named
   * order.
   */
  readonly orderId?: string;
  /**
   * That order's status, as stored when the command was last read or stepped. Shown with the
   * result; nothing is judged by it.
   */
  readonly orderStatus?: OrderStatus;
  readonly reason?: Reason;
  /**
   * `unknown` only: enough complete reads missed it. A label: only `supersedes` frees anything by
   * it.
   */
  readonly presumedAbsent: boolean;
  /**
   * Replace and cancel: the platform was seen to have it pending (pendingAction), at this version
   * or revision.
   */
  readonly seenPendingAt?: { readonly revision: number; readonly sourceVersion?: bigint };
  /**
   * Complete reads that missed it so far, since the last possible send. Durable, so a restart does
   * not begin the count again.
   */
  readonly misses: number;
  readonly baseline?: Baseline;
  /** Until this wall time, others may follow attempts that were not sent. */
  readonly deadlineAtMs: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** When its result became final (`isFinal`). */
  readonly resolvedAtMs?: number;
  readonly attempts: readonly Attempt[];
}

/**
 * Everything known about a command, one fact a row, append only. A verdict can be computed again
 * from these rows and `order_updates` alone.
 *
 * - `answer`: the answer on the platform's socket. `update`: an order's revision (by key and
 *   revision). `read`: a complete read that did or did not show it.
 * - `note`: our own actions (prepared, sending, abandoned, taken over, escalated). `person`: an
 *   operator's decision.
 */
export const evidenceKinds = ['answer', 'update', 'read', 'note', 'person'] as const;
type EvidenceKind = (typeof evidenceKinds)[number];

export interface Evidence {
  /** Rises within a command. */
  readonly number: number;
  readonly kind: EvidenceKind;
  /**
   * Short and stable: `accepted`, `timeout`, `landed`, `missed`, `seen_pending`, `terms_working`,
   * `taken_over`, `resolved` …
   */
  readonly code: string;
  /** Plain JSON; decimals and int64 as strings. No secrets. */
  readonly detail: Readonly<Record<string, unknown>>;
  readonly attemptId?: string;
  readonly atMs: number;
}

/**
 * Only new facts change it: a late landing, or a person. `accepted` still waits until its effect is
 * observed, `conflict` for a person.
 */
export function isFinal(state: CommandState): boolean {
  return state !== 'open' && state !== 'unknown' && state !== 'accepted' && state !== 'conflict';
}

/** Its order has a reference of ours: of each place, and of a replace at some venues. */
export function makesOrder({ kind, stream }: Pick<CommandRequest, 'kind' | 'stream'>): boolean {
  return kind === 'place' || (kind === 'replace' && traits[stream].replaces === 'new_order');
}

/** A replace or a cancel names it. */
export function isForOrder(request: CommandRequest, orderId: string | undefined): boolean {
  return request.kind !== 'place' && request.orderId === orderId;
}

/** The order with its reference, once it was seen. */
export function madeOrder({ request, orderId }: Pick<Command, 'request' | 'orderId'>): string | undefined {
  return makesOrder(request) && !isForOrder(request, orderId) ? orderId : undefined;
}

/** The order before the one that a replace has made. */
export function replacedOrder(command: Pick<Command, 'request' | 'orderId'>): string | undefined {
  const { request } = command;
  return request.kind === 'replace' && madeOrder(command) !== undefined ? request.orderId : undefined;
}

/**
 * The command's order is there, and the venue has neither taken nor refused it yet. Nothing is in
 * doubt: the order is followed like any other, and its later updates resolve the place.
 */
export function awaitsVenue(command: Pick<Command, 'request' | 'state' | 'orderId'>): boolean {
  return command.state === 'accepted' && madeOrder(command) !== undefined;
}

/** So many halt their account. An attempt in flight is not doubtful. */
export function isDoubtful(state: CommandState): boolean {
  return state === 'unknown' || state === 'conflict';
}

/**
 * Its result is not known, or a person has to decide it. It counts as exposure, and REST answers
 * 202.
 */
export function isUnresolved(state: CommandState): boolean {
  return state === 'open' || state === 'unknown' || state === 'conflict';
}

export interface CommandWithEvidence {
  readonly command: Command;
  readonly evidence: readonly Evidence[];
}

/** Tells places apart by their terms. */
export function isOfSecurities<T extends { readonly stream: Stream }>(
  of: T,
): of is Extract<T, { readonly stream: StreamWith<'market', 'securities'> }> {
  return traits[of.stream].market === 'securities';
}
