import type { Baseline, Command, Reason } from './command.ts';
import { compareInstants } from './instant.ts';
import { type Order, parseVersion } from './order.ts';
import { present } from './present.ts';
import type { Because, Fact, Finding, ResolvingUpdate, Verdict } from './resolving.ts';
import { traits } from './streams.ts';

/**
 * The updates that may be evidence: above the baseline, each once, in the sequence the order went
 * through them. Arrival order and repeats have no effect on the result, so no verdict can depend on
 * them.
 */
export function aboveBaseline(baseline: Baseline, updates: readonly ResolvingUpdate[]): ResolvingUpdate[] {
  const byRevision = new Map<number, ResolvingUpdate>();
  for (const update of updates) if (isNews(baseline, update)) byRevision.set(update.revision, update);
  return [...byRevision.values()].sort((a, b) => a.revision - b.revision);
}

function isNews(baseline: Baseline, update: ResolvingUpdate): boolean {
  if (update.revision <= baseline.revision || update.sourceEpoch < baseline.sourceEpoch) return false;
  if (update.order.incarnation !== baseline.incarnation) return false;
  const comparable = update.sourceEpoch === baseline.sourceEpoch;
  const { sourceVersion: held } = baseline;
  return !comparable || held === undefined || update.sourceVersion === undefined || update.sourceVersion > held;
}

/**
 * The first update of another order under the id: the platform gave it again, so the one that the
 * command names is over, whether or not its end was seen.
 */
export function nextUnderId(baseline: Baseline, updates: readonly ResolvingUpdate[]): ResolvingUpdate | undefined {
  const [first = 1, isNext] = [baseline.incarnation, ({ order }: ResolvingUpdate) => (order.incarnation ?? 1) > first];
  return updates.filter(isNext).sort((a, b) => a.revision - b.revision)[0];
}

/** The order ended by other means first. */
export function endedFirst(update: ResolvingUpdate): Verdict {
  return verdictBy(update, 'moot', 'ended', endedAs(update.order));
}

export function endedAs({ status }: Pick<Order, 'status'>): Reason {
  return { code: 'ORDER_ENDED', message: `the order was ${status} first` };
}

export function endedUnseen(update: ResolvingUpdate): Verdict {
  return verdictBy(update, 'moot', 'ended', {
    code: 'ORDER_ENDED',
    message: 'the order is over: the platform has given its id to another one',
  });
}

/**
 * Any other value than `certain` means the state could not be confirmed (specification, "Prediction
 * order"). No verdict is taken from it.
 */
export function isConfirmed(order: Order): boolean {
  return order.certainty === 'certain' && order.status !== 'unknown';
}

/**
 * The place at which a command was seen pending on the platform. `updatedAt` only if the update
 * itself is at hand.
 */
export type SeenPending = NonNullable<Command['seenPendingAt']> & { readonly updatedAt?: string };

/**
 * Whether the update was observed before a byte of the command can have left. Then it shows another
 * request's pending action, mostly another command of ours on the same order. Both times are the
 * database's (docs/decisions/084-commands-go-by-the-databases-time.md).
 */
export function isBeforeSend({ attempts }: Pick<Command, 'attempts'>, { observedAtMs }: ResolvingUpdate): boolean {
  if (observedAtMs === undefined) return false;
  const mayBeSent = attempts.filter(({ state }) => state !== 'not_sent' && state !== 'refused');
  return mayBeSent.every(({ sendingAtMs }) => sendingAtMs === undefined || observedAtMs < sendingAtMs);
}

/**
 * The place at which the command is seen pending, after one more update that shows it so. The first
 * such place is kept. `rival`: another request's action was pending at the baseline and has not
 * been answered, so this update may still show that one.
 */
export function pendingAfter(
  pending: SeenPending | undefined,
  update: ResolvingUpdate,
  rival: boolean,
): SeenPending | undefined {
  const { revision, sourceVersion, order } = update;
  if (pending === undefined)
    return rival ? undefined : present({ revision, sourceVersion, updatedAt: order.updatedAt });
  // The recorded place has no instant. The update has it.
  return pending.revision === revision ? { ...pending, updatedAt: order.updatedAt } : pending;
}

/**
 * Whether an update is later than the place at which the command was seen pending. A version is
 * compared only with versions. An accepted reply is seen pending at its own version, and the stream
 * may bring older updates afterwards. Account orders have no versions: a view at the same instant
 * proves nothing there.
 */
export function isAbove(update: ResolvingUpdate, pending: SeenPending): boolean {
  if (pending.sourceVersion !== undefined)
    return update.sourceVersion !== undefined && update.sourceVersion > pending.sourceVersion;
  if (update.revision <= pending.revision) return false;
  const later = pending.updatedAt === undefined ? 1 : compareInstants(update.order.updatedAt, pending.updatedAt);
  // Reads have decided that an earlier instant is the later one: the platform's clock was set back.
  return later > 0 || (later < 0 && update.cause === 'correction');
}

/** The update as a fact for the evidence. */
function factOf(because: Because | 'seen_pending' | 'source_epoch_changed', update: ResolvingUpdate): Fact {
  const { order, revision, sourceVersion, sourceEpoch, cause } = update;
  return {
    kind: 'update',
    code: because,
    detail: present({
      stream: order.stream,
      orderId: order.orderId,
      revision,
      sourceVersion: sourceVersion?.toString(),
      sourceEpoch: sourceEpoch === 0 ? undefined : sourceEpoch,
      cause,
      status: order.status,
      pendingAction: order.pendingAction,
      working: order.working,
      cumQty: order.cumQty,
    }),
  };
}

const longestMessage = 500;

/**
 * The venue's own words: "most rejections carry useful detail only" in the text (specification,
 * "Prediction order").
 */
export function recordedReason(order: Order, what: string): Reason {
  const { rejectReason, rejectText } = order;
  const message = rejectText ?? rejectReason ?? `the venue refused the ${what} without a word`;
  return { code: rejectReason ?? 'VENUE_REFUSED', message: message.slice(0, longestMessage) };
}

/** A verdict that rests on one update to the order named by a replace or cancel. */
export function verdictBy(
  update: ResolvingUpdate,
  result: Exclude<Verdict['result'], 'accepted'>,
  because: Because,
  reason?: Reason,
): Verdict {
  return {
    kind: 'verdict',
    result,
    event: `verdict_${result}`,
    because,
    orderId: update.order.orderId,
    ...present({ reason }),
    evidence: factOf(because, update),
  };
}

export function reachedBy(update: ResolvingUpdate, { revision, sourceVersion }: SeenPending): Finding {
  return { kind: 'reached', at: present({ revision, sourceVersion }), evidence: factOf('seen_pending', update) };
}

export function flaggedBy(update: ResolvingUpdate): Finding {
  return { kind: 'flagged', because: 'source_epoch_changed', evidence: factOf('source_epoch_changed', update) };
}

/**
 * An accepted replace or cancel counts as seen pending at the version in the platform's 202
 * (docs/commands.md, "Result of a write"). The stream may have brought a later version before the
 * reply came. Without this rule that version would show old terms that were never seen pending, and
 * prove nothing.
 *
 * Undefined if the reply names no version, or one not above the baseline. Such a version was given
 * under another source epoch and can't be compared. `answer`: the part of the reply kept as
 * evidence; int64 as text.
 */
export function pendingByAnswer(
  { request, baseline }: Pick<Command, 'request' | 'baseline'>,
  answer: Readonly<Record<string, unknown>>,
): Command['seenPendingAt'] {
  if (request.kind === 'place' || traits[request.stream].reduction !== 'versioned' || baseline === undefined)
    return undefined;
  const { version } = answer;
  const sourceVersion = typeof version === 'string' ? parseVersion(version) : undefined;
  if (sourceVersion === undefined || (baseline.sourceVersion !== undefined && sourceVersion <= baseline.sourceVersion))
    return undefined;
  return { revision: baseline.revision, sourceVersion };
}
