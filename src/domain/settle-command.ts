import {
  aboveBaseline,
  flaggedBy,
  isAbove,
  isBeforeSend,
  isConfirmed,
  pendingAfter,
  reachedBy,
  recordedReason,
  type SeenPending,
  verdictBy,
} from './above-baseline.ts';
import { type Baseline, isFinal, type Reason, type ReplaceTerms } from './command.ts';
import { isTerminal, type Order } from './order.ts';
import { settlePlace } from './settle-place.ts';
import { type Finding, nothing, type Settling, type SettlingUpdate, type Verdict } from './settling.ts';

/**
 * A replace (docs/settling.md, "Settling unknown"), judged version by version above the baseline; the first that proves something is the verdict, so that
 * what happens to the order later can't reverse it.
 *
 * While the command is open its write may not have left: what was seen pending, refused or changed to other terms may be somebody else's, and nothing but its own
 * terms at work, or the end of the order, is a verdict.
 */
function settleReplace({ command, updates, successor }: Settling): Finding {
  const { request, baseline, state } = command;
  if (request.kind !== 'replace' || baseline === undefined || isFinal(state) || state === 'conflict') return nothing;
  let pending: SeenPending | undefined = command.seenPendingAt;
  /** The version up to which every one was heard since it was seen pending, and showed it so. */
  let heardTo: bigint | undefined = pending?.sourceVersion;
  let news: SettlingUpdate | undefined;
  let rivalPending = baseline.pendingAction === 'replace';
  let anotherAction = false;
  const heard = aboveBaseline(baseline, updates);
  for (const update of heard) {
    const { order } = update;
    if (update.sourceEpoch !== baseline.sourceEpoch) return flaggedBy(update);
    if (!isConfirmed(order)) continue;
    if (order.pendingAction === 'replace' && !isTerminal(order.status)) {
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
    if (state === 'open') continue;
    // What is not above the place where it was seen pending was so before the venue had it.
    if (pending !== undefined && !isAbove(update, pending)) continue;
    if (shown === 'other') return verdictBy(update, 'conflict', 'other_terms', otherTerms(order));
    if (pending === undefined) continue;
    // A cancel was in hand since: what was refused may be that alone, and the replace still be on its way.
    if (shown === 'old' && anotherAction) continue;
    if (shown === 'old') return verdictBy(update, 'rejected', 'venue_refused', recordedReason(order, 'replace'));
    // Behind a version that nobody heard of it may have been granted, and what was refused be the next thing that somebody asked for: a cancel, say.
    return isNext(update, heardTo) && isReasonNew(baseline, heard, update)
      ? verdictBy(update, 'rejected', 'reason_recorded', recordedReason(order, 'replace'))
      : verdictBy(update, 'conflict', 'nothing_to_tell_by', nothingToTellBy);
  }
  // Told once it is answered: before, whose it is can't be known.
  return news === undefined || pending === undefined || state === 'open' ? nothing : reachedBy(news, pending);
}

/** Nothing can have happened in between: a version rises with each change. By how much is not promised, so a hole may be one or none. */
function isNext({ sourceVersion }: SettlingUpdate, heardTo: bigint | undefined): boolean {
  return sourceVersion !== undefined && heardTo !== undefined && sourceVersion === heardTo + 1n;
}

/** The platform shows these two of the terms at work; stop price, time in force and expiry only as they were submitted, and that never changes. */
const shownTerms = ['quantity', 'price'] as const;

/**
 * What the venue works on, over the terms that were asked for and differ from the baseline: all of them as `asked`, all as before (`old`), something else
 * (`other`), or there is no such term (`unseen`). One new and one old is `other`: an amend is granted whole, so somebody else had a hand in it.
 */
function workingTerms(terms: ReplaceTerms, baseline: Baseline, order: Order): 'asked' | 'old' | 'other' | 'unseen' {
  // Not acknowledged yet, a venue works on what was submitted.
  const before = { quantity: baseline.working.quantity, price: baseline.working.price ?? order.price };
  const now = { quantity: order.working.quantity, price: order.working.price ?? order.price };
  const wanted = shownTerms.filter((name) => terms[name] !== undefined && terms[name] !== before[name]);
  if (wanted.length === 0) return 'unseen';
  const asked = wanted.some((name) => now[name] === terms[name]);
  const old = wanted.filter((name) => now[name] === before[name]).length;
  if (asked) return old === 0 ? 'asked' : 'other';
  return old === wanted.length ? 'old' : 'other';
}

function replaceEnded(update: SettlingUpdate, successor: Settling['successor']): Finding {
  const { order } = update;
  if (successor === undefined) {
    const reference = order.clientOrderRef ?? order.clOrdId;
    return { kind: 'look_for_successor', orderId: order.orderId, ...(reference === undefined ? {} : { reference }) };
  }
  if (successor.orderId === undefined)
    return verdictBy(update, 'moot', 'ended', { code: 'ORDER_ENDED', message: `the order was ${order.status} first` });
  const message = `the order was ${order.status}, and order ${successor.orderId} took its place`;
  return verdictBy(update, 'conflict', 'successor', { code: 'SUCCESSOR_FOUND', message });
}

/**
 * Whether the reason was recorded with this very version. An order keeps what was recorded last, so that of a cancel that was refused before the replace was in hand still shows
 * once the replace is granted (found by the simulator). It is held against all that was heard before, among which has to be the version just below.
 */
function isReasonNew(baseline: Baseline, heard: readonly SettlingUpdate[], update: SettlingUpdate): boolean {
  const before = heard.filter(({ revision }) => revision < update.revision);
  if (!before.some(({ sourceVersion }) => isNext(update, sourceVersion))) return false;
  const shown = [baseline, ...before.map(({ order }) => order)];
  const isNew = (name: 'rejectReason' | 'rejectText') =>
    update.order[name] !== undefined && shown.every((earlier) => earlier[name] !== update.order[name]);
  return isNew('rejectReason') || isNew('rejectText');
}

const nothingToTellBy: Reason = {
  code: 'NOTHING_TO_TELL_BY',
  message: 'the venue has answered, but what was to change is not shown at work, and no reason was recorded',
};

function otherTerms({ working }: Order): Reason {
  const price = working.price === undefined ? '' : ` at ${working.price}`;
  return { code: 'OTHER_TERMS', message: `the venue works on ${working.quantity}${price}: neither the old terms nor the new` };
}

/**
 * A cancel (docs/settling.md, "Settling unknown"), judged update by update above the baseline. Nothing but an observed end of the order is an end of the cancel:
 * that the order can't be found, and that time passes, prove nothing.
 *
 * With a rival, another cancel of the order that may have been out at the same time, nobody can tell whose is seen pending, unless this one was seen so before: then it is
 * never taken as refused either, since it may have been the other, and this one still be on its way (found by the simulator). The order's end settles it.
 * An order that somebody else placed always has such a rival: whoever placed it cancels it too, and no journal of ours tells when.
 *
 * One that the platform refused (404, 409) gets one look at its order: ended by other means, it is `moot`. It says nothing about the place.
 */
function settleCancel({ command, updates, rivals }: Settling): Finding {
  const { baseline, state } = command;
  if (baseline === undefined || (isFinal(state) && state !== 'refused') || state === 'conflict') return nothing;
  let pending: SeenPending | undefined = command.seenPendingAt;
  let news: SettlingUpdate | undefined;
  let rivalPending = baseline.pendingAction === 'cancel';
  let anotherAction = false;
  for (const update of aboveBaseline(baseline, updates)) {
    const { order } = update;
    if (update.sourceEpoch !== baseline.sourceEpoch) return flaggedBy(update);
    if (!isConfirmed(order)) continue;
    if (isTerminal(order.status)) return ended(update, state === 'refused');
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
    // While it is open its write may not have left: the cancel that was refused was somebody else's.
    // After another action was seen in hand, the answer may have been to that alone.
    if (state !== 'open' && pending !== undefined && !anotherAction && isAbove(update, pending))
      return verdictBy(update, 'rejected', 'venue_refused', recordedReason(order, 'cancel'));
  }
  // Told once it is answered: before, whose it is can't be known.
  return news === undefined || pending === undefined || state === 'open' ? nothing : reachedBy(news, pending);
}

function ended(update: SettlingUpdate, wasRefused: boolean): Verdict {
  const { status } = update.order;
  if (status === 'canceled' && !wasRefused) return verdictBy(update, 'applied', 'canceled');
  return verdictBy(update, 'moot', 'ended', { code: 'ORDER_ENDED', message: `the order was ${status} first` });
}

/**
 * What the updates say of a command (docs/settling.md, "Settling unknown"): the same rules for unknown and for accepted ones, for those in flight, and for those
 * that are over (late landings). Pure: equal sets of updates give equal findings, in whatever order and however often they came. Ask again after each step:
 * what an open command may not conclude, an answered one may.
 */
export function settleCommand(settling: Settling): Finding {
  const { kind } = settling.command.request;
  if (kind === 'place') return settlePlace(settling);
  return kind === 'replace' ? settleReplace(settling) : settleCancel(settling);
}
