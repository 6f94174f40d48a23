import {
  aboveBaseline,
  endedAs,
  endedFirst,
  endedUnseen,
  flaggedBy,
  isAbove,
  isBeforeSend,
  isConfirmed,
  nextUnderId,
  pendingAfter,
  reachedBy,
  recordedReason,
  type SeenPending,
  verdictBy,
} from './above-baseline.ts';
import { type Baseline, type Command, isFinal, makesOrder, type Reason, type ReplaceTerms } from './command.ts';
import { compareDecimals } from './decimal.ts';
import { compareInstants } from './instant.ts';
import { isTerminal, type Order } from './order.ts';
import { resolvePlace, resolveSuccessor } from './resolve-place.ts';
import { type Finding, nothing, type Resolving, type ResolvingUpdate, type Verdict } from './resolving.ts';
import { traits } from './streams.ts';

/**
 * A replace (docs/commands.md, "How unknown is resolved"), judged version by version above the
 * baseline. The first version that proves something is the verdict, so later changes to the order
 * can't reverse it.
 *
 * While the command is open its write may not have left: a pending or refused action, or a change
 * to other terms, may belong to another request. Then only its own terms at work, or the order's
 * end, are a verdict. The same holds if it supersedes another replace, or is superseded, until its
 * own answer names the version at which it is pending: the order shows one of them, and not which.
 */
function resolveReplace({ command, updates, successor, rivals }: Resolving): Finding {
  const { request, baseline, state } = command;
  if (request.kind !== 'replace' || baseline === undefined || isFinal(state) || state === 'conflict') return nothing;
  let pending: SeenPending | undefined = command.seenPendingAt;
  /** Every version up to this one was received since it was seen pending, and showed it pending. */
  let heardTo: bigint | undefined = pending?.sourceVersion;
  let news: ResolvingUpdate | undefined;
  let rivalPending = baseline.pendingAction === 'replace';
  let anotherAction = false;
  const heard = aboveBaseline(baseline, updates);
  for (const update of heard) {
    const { order } = update;
    if (update.sourceEpoch !== baseline.sourceEpoch) return flaggedBy(update);
    if (!isConfirmed(order)) continue;
    if (order.pendingAction === 'replace' && !isTerminal(order.status)) {
      if (rivals === true && pending === undefined) continue;
      if (isBeforeSend(command, update)) rivalPending = true;
      const before: SeenPending | undefined = pending;
      pending = pendingAfter(before, update, rivalPending);
      if (before === undefined && pending !== undefined) news = update;
      if (before === undefined) heardTo = pending?.sourceVersion;
      else if (isNext(update, heardTo)) heardTo = update.sourceVersion;
      anotherAction = false;
      continue;
    }
    const shown = workingTerms(request.terms, baseline, order);
    if (shown === 'asked') return verdictBy(update, 'applied', 'terms_working');
    if (isTerminal(order.status)) return replaceEnded(update, successor);
    if (order.pendingAction !== 'none') {
      if (pending !== undefined && isAbove(update, pending)) anotherAction = true;
      continue;
    }
    rivalPending = false;
    if (state === 'open' || (rivals === true && pending === undefined)) continue;
    // If an update is not above the place where it was seen pending, it shows a state from before
    // the venue had it.
    if (pending !== undefined && !isAbove(update, pending)) continue;
    if (shown === 'other') return verdictBy(update, 'conflict', 'other_terms', otherTerms(order));
    if (pending === undefined) continue;
    // A cancel was pending since: the venue may have refused that alone, and the replace may still
    // be on its way.
    if (shown === 'old' && anotherAction) continue;
    if (shown === 'old' && isTakenBack(update)) continue;
    if (shown === 'old') return verdictBy(update, 'rejected', 'venue_refused', recordedReason(order, 'replace'));
    // After a missed version: the replace may have been granted in that version, and the refused
    // request may be the next one, a cancel for example.
    return isNext(update, heardTo) && isReasonNew(baseline, heard, update)
      ? verdictBy(update, 'rejected', 'reason_recorded', recordedReason(order, 'replace'))
      : verdictBy(update, 'conflict', 'nothing_to_tell_by', nothingToTellBy);
  }
  const next = nextUnderId(baseline, updates);
  if (next !== undefined) return endedUnseen(next);
  // Only once it is answered: before that, the pending action may belong to another request.
  return news === undefined || pending === undefined || state === 'open' ? nothing : reachedBy(news, pending);
}

/**
 * Nothing can have happened in between: a version rises with each change. The size of the rise is
 * not promised, so a gap may be a missed version or none.
 */
function isNext({ sourceVersion }: ResolvingUpdate, heardTo: bigint | undefined): boolean {
  return sourceVersion !== undefined && heardTo !== undefined && sourceVersion === heardTo + 1n;
}

/**
 * The platform shows these two as they are at work. It shows stop price, time in force and expiry
 * only as submitted, and that never changes.
 */
const shownTerms = ['quantity', 'price'] as const;

/**
 * The venue's terms, compared over those requested terms that differ from the baseline. All are as
 * `asked`, all are as before (`old`), something else (`other`), or there is no such term
 * (`unseen`). One new and one old is `other`: an amend is granted whole, so another request changed
 * one.
 */
function workingTerms(terms: ReplaceTerms, baseline: Baseline, order: Order): 'asked' | 'old' | 'other' | 'unseen' {
  // Before the venue acknowledges, it works on the submitted terms.
  const before = { quantity: baseline.working.quantity, price: baseline.working.price ?? order.price };
  // An order that has ended may have no working price any more, and says nothing of the last one.
  const isPriceGone = isTerminal(order.status) && baseline.working.price !== undefined;
  const now = {
    quantity: order.working.quantity,
    price: order.working.price ?? (isPriceGone ? undefined : order.price),
  };
  const shown = isPriceGone && now.price === undefined ? (['quantity'] as const) : shownTerms;
  const wanted = shown.filter((name) => terms[name] !== undefined && terms[name] !== before[name]);
  if (wanted.length === 0) return 'unseen';
  const asked = wanted.some((name) => now[name] === terms[name]);
  const old = wanted.filter((name) => now[name] === before[name]).length;
  if (asked) return old === 0 ? 'asked' : 'other';
  return old === wanted.length ? 'old' : 'other';
}

function replaceEnded(update: ResolvingUpdate, successor: Resolving['successor']): Finding {
  const { order } = update;
  if (successor === undefined) {
    const reference = order.clientOrderRef ?? order.clOrdId;
    return { kind: 'look_for_successor', orderId: order.orderId, reference };
  }
  if (successor.orderId === undefined) return endedFirst(update);
  const message = `the order was ${order.status}, and order ${successor.orderId} took its place`;
  return verdictBy(update, 'conflict', 'successor', { code: 'SUCCESSOR_FOUND', message });
}

/**
 * Whether the reason was recorded with this very version. An order keeps the last recorded reason.
 * If a cancel was refused before the replace was pending, its reason still shows once the replace
 * is granted (found by the simulator). The reason is compared with all updates received before, and
 * these must include the version just below.
 */
function isReasonNew(baseline: Baseline, heard: readonly ResolvingUpdate[], update: ResolvingUpdate): boolean {
  const before = heard.filter(({ revision }) => revision < update.revision);
  if (!before.some(({ sourceVersion }) => isNext(update, sourceVersion))) return false;
  return showsNewReason(update.order, [baseline, ...before.map(({ order }) => order)]);
}

type RecordedReason = Pick<Order, 'rejectReason' | 'rejectText'>;

function showsNewReason(order: RecordedReason, shown: readonly RecordedReason[]): boolean {
  const isNew = (name: keyof RecordedReason) =>
    order[name] !== undefined && shown.every((earlier) => earlier[name] !== order[name]);
  return isNew('rejectReason') || isNew('rejectText');
}

const nothingToTellBy: Reason = {
  code: 'NOTHING_TO_TELL_BY',
  message: 'the venue has answered, but what was to change is not shown at work, and no reason was recorded',
};

function otherTerms({ working }: Order): Reason {
  const price = working.price === undefined ? '' : ` at ${working.price}`;
  return {
    code: 'OTHER_TERMS',
    message: `the venue works on ${working.quantity}${price}: neither the old terms nor the new`,
  };
}

/**
 * A cancel (docs/commands.md, "How unknown is resolved"), judged update by update above the
 * baseline. Only an observed end of the order is an end of the cancel. It proves nothing that the
 * order can't be found, or that time passes.
 *
 * A rival is another cancel for the order, perhaps out at the same time. Either may then be the one
 * seen pending, unless this one was seen pending before. With a rival, a cancel is never taken as
 * refused: the refused one may have been the other, and this one may still be on its way (found by
 * the simulator). The order's end resolves it. An order placed by another client always has such a
 * rival: that client cancels it too, and our journal does not show when.
 *
 * A cancel the venue refused (404, 409, 422) gets one look at its order: if that ended by other
 * means, the cancel is `moot`. It proves nothing about the place. If we believe an order has ended,
 * its cancel is sent too, and it is `moot` once a later read says the same.
 */
function resolveCancel({ command, updates, rivals, stillEnded }: Resolving): Finding {
  const { baseline, state } = command;
  if (baseline === undefined || (isFinal(state) && state !== 'refused') || state === 'conflict') return nothing;
  let pending: SeenPending | undefined = command.seenPendingAt;
  let news: ResolvingUpdate | undefined;
  let rivalPending = baseline.pendingAction === 'cancel';
  let anotherAction = false;
  const heard = aboveBaseline(baseline, updates);
  /**
   * An end already there before the cancel is no answer to it, unless the order has worked in
   * between.
   */
  let isNewEnd = !isTerminal(baseline.status);
  const hiding = mayHidePending(baseline, heard, rivals);
  for (const update of heard) {
    const { order } = update;
    if (update.sourceEpoch !== baseline.sourceEpoch) return flaggedBy(update);
    if (!isConfirmed(order)) continue;
    if (isTerminal(order.status) && !isNewEnd && order.status === baseline.status) continue;
    if (isTerminal(order.status)) return ended(update, state === 'refused');
    isNewEnd = true;
    if (state === 'refused') continue;
    if (order.pendingAction === 'cancel') {
      if (pending === undefined && (rivals === true || order.origin === 'external')) continue;
      anotherAction = false;
      if (isBeforeSend(command, update)) rivalPending = true;
      const before: SeenPending | undefined = pending;
      pending = pendingAfter(before, update, rivalPending);
      if (before === undefined && pending !== undefined) news = update;
      continue;
    }
    if (order.pendingAction !== 'none') {
      if (pending !== undefined && isAbove(update, pending)) anotherAction = true;
      continue;
    }
    rivalPending = false;
    // While it is open its write may not have left: the refused cancel was another one. After
    // another action was seen pending, the answer may have been to that alone.
    const isAnswer = state !== 'open' && pending !== undefined && !anotherAction && isAbove(update, pending);
    if (isAnswer && !isTakenBack(update) && !hiding.has(update))
      return verdictBy(update, 'rejected', 'venue_refused', recordedReason(order, 'cancel'));
  }
  const next = nextUnderId(baseline, updates);
  if (next !== undefined) return endedUnseen(next);
  // An update may say more of the same end, such as its owner.
  if (stillEnded === true && !isNewEnd && state !== 'open') return endedBefore(command, baseline);
  // Only once it is answered: before that, the pending action may belong to another request.
  return news === undefined || pending === undefined || state === 'open' ? nothing : reachedBy(news, pending);
}

/**
 * A correction takes back what was shown, and so it may show the order from before the request:
 * where the platform's clock was set back, reads that lag agree on such a row. What follows tells.
 */
function isTakenBack({ cause }: ResolvingUpdate): boolean {
  return cause === 'correction';
}

/**
 * The views that may hide a pending cancel. An account order has one word for its status and for
 * what is pending, so a view with a fill, or with the news that the venue took the order, may be
 * shown while the cancel is open. It hides nothing if it has a new reason, or if this platform has
 * shown the order's fills with the pending word. With `rivals`, that word may come from a second
 * cancel, sent after a fill that was not heard. Where the fills came with an earlier time than the
 * view before them, the platform's clock was set back, and no time tells which view is older.
 */
function mayHidePending(baseline: Baseline, heard: readonly ResolvingUpdate[], rivals = false): Set<ResolvingUpdate> {
  const hiding = new Set<ResolvingUpdate>();
  let before: Baseline | Order = baseline;
  let wasTaken = baseline.status !== 'pending_new';
  /** When the present fills were first shown. Undefined: at the baseline. */
  let filledAt: string | undefined;
  let isSetBack = false;
  let areFillsShown = false;
  for (const update of heard) {
    const { order } = update;
    if (!traits[order.stream].pendingHidesStatus) break;
    const isPending = order.pendingAction !== 'none';
    if (compareDecimals(order.cumQty, before.cumQty) > 0) {
      filledAt = order.updatedAt;
      isSetBack = before.updatedAt !== undefined && compareInstants(filledAt, before.updatedAt) < 0;
      areFillsShown ||= isPending && before.pendingAction !== 'none' && !rivals;
    }
    const isFill = filledAt !== undefined && (isSetBack || compareInstants(order.updatedAt, filledAt) <= 0);
    if (!showsNewReason(order, [before]) && (!wasTaken || (isFill && !areFillsShown))) hiding.add(update);
    wasTaken ||= !isPending && order.status !== 'pending_new';
    before = order;
  }
  return hiding;
}

/** The order had ended before the cancel was asked for, and a later read says so too. */
function endedBefore({ request, orderId = '' }: Command, { status, revision }: Baseline): Verdict {
  return {
    kind: 'verdict',
    result: 'moot',
    event: 'verdict_moot',
    because: 'ended',
    orderId,
    reason: endedAs({ status }),
    evidence: { kind: 'read', code: 'still_ended', detail: { stream: request.stream, orderId, revision, status } },
  };
}

function ended(update: ResolvingUpdate, wasRefused: boolean): Verdict {
  const isCanceled = update.order.status === 'canceled' && !wasRefused;
  return isCanceled ? verdictBy(update, 'applied', 'canceled') : endedFirst(update);
}

/**
 * The conclusion from the updates about a command (docs/commands.md, "How unknown is resolved").
 * The same rules hold for unknown and accepted commands, for those in flight, and for those that
 * are over (late landings). Pure: equal sets of updates give equal findings, in any order and with
 * any repeats. Ask again after each step: an answered command may allow a conclusion an open one
 * did not.
 */
export function resolveCommand(resolving: Resolving): Finding {
  const { request } = resolving.command;
  if (request.kind === 'place') return resolvePlace(resolving);
  if (makesOrder(request)) return resolveSuccessor(resolving);
  return request.kind === 'replace' ? resolveReplace(resolving) : resolveCancel(resolving);
}
