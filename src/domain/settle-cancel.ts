import {
  aboveBaseline,
  isAbove,
  isBeforeSend,
  isConfirmed,
  pendingAfter,
  recordedReason,
  type SeenPending,
} from './above-baseline.ts';
import { isFinal } from './command.ts';
import { flaggedBy, reachedBy, verdictBy } from './findings.ts';
import { type Finding, nothing, type Settling, type SettlingUpdate, type Verdict } from './settling.ts';
import { isTerminal } from './terminal.ts';

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
export function settleCancel({ command, updates, rivals }: Settling): Finding {
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
