import { aboveBaseline, endedFirst, endedUnseen, flaggedBy, isConfirmed, nextUnderId } from './above-baseline.ts';
import { isFinal } from './command.ts';
import { isTerminal } from './order.ts';
import { resolvePlace } from './resolve-place.ts';
import { type Finding, nothing, type Resolving } from './resolving.ts';

/**
 * A replace with a new order (docs/commands.md, "How unknown is resolved"). The new order has a
 * reference of ours, so it resolves the command like a place: `applied` once the venue has taken
 * it, `rejected` if it is refused.
 *
 * Until then only the old order's end gives reason to look: if the look finds none, the doubt is
 * over. A pending replace went away without an order: it was another request's, and this one may
 * still come. While the command is open its write may still leave, and a look proves nothing.
 */
export function resolveSuccessor(resolving: Resolving): Finding {
  const { command, updates, successor } = resolving;
  const { request, baseline, state, attempts } = command;
  if (request.kind !== 'replace' || baseline === undefined) return nothing;
  const byReference = resolvePlace(resolving);
  if (byReference.kind !== 'nothing' || (resolving.bound ?? []).length > 0) return byReference;
  if (isFinal(state) || state === 'conflict' || state === 'open') return nothing;
  const named = updates.filter(({ order }) => order.orderId === request.orderId);
  const next = nextUnderId(baseline, named);
  if (next !== undefined) return endedUnseen(next);
  for (const update of aboveBaseline(baseline, named)) {
    const { order } = update;
    if (update.sourceEpoch !== baseline.sourceEpoch) return flaggedBy(update);
    if (!isConfirmed(order) || !isTerminal(order.status)) continue;
    const reference = attempts.at(-1)?.attemptId;
    if (successor === undefined)
      return { kind: 'look_for_successor', orderId: request.orderId, ...(reference !== undefined && { reference }) };
    if (successor.orderId !== undefined) return nothing;
    return endedFirst(update);
  }
  return nothing;
}
