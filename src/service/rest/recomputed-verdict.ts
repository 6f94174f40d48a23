import type { Command, CommandWithEvidence } from '../../domain/command.ts';
import { decodeUpdate } from '../../domain/encode-update.ts';
import type { Stream } from '../../domain/order.ts';
import { recomputeVerdict } from '../../domain/recompute-verdict.ts';
import type { SettlingUpdate } from '../../domain/settling.ts';
import { verdictRule } from '../../domain/verdict-rule.ts';
import type { AccountScope, OrderReads } from '../../store/orders/order-reads.ts';

const pageSize = 500;
/**
 * For each order. If an order changes more often after its command, one of these settles it, or
 * none.
 */
const mostUpdates = 2_000;
const mostOrders = 4;

interface Updates {
  readonly updates: readonly SettlingUpdate[];
  /** False: there are more, or the log does not have the first ones any more. */
  readonly complete: boolean;
}

/**
 * The verdict again, from the facts alone, with its rule: `{ state, because, rule, agrees, complete
 * }`. `agrees` is about the command as it was read before: an update may have been stored since
 * then, and the step from it comes within moments.
 */
export async function recomputedVerdict(
  reads: Pick<OrderReads, 'history'>,
  scope: AccountScope,
  { command, evidence }: CommandWithEvidence,
) {
  const { request, orderId } = command;
  const named = evidence.map(({ detail }) => detail['orderId']).filter((id) => typeof id === 'string');
  const orderIds = [...new Set(orderId === undefined ? named : [orderId, ...named])];
  const looked = orderIds.slice(0, mostOrders);
  const known = await Promise.all(looked.map((id) => updatesOf(reads, scope, request.stream, id, command)));
  const verdict = recomputeVerdict(
    command,
    evidence,
    known.flatMap(({ updates }) => updates),
  );
  const complete = looked.length === orderIds.length && known.every((each) => each.complete);
  const { state, because, agrees } = verdict;
  return { state, because, rule: verdictRule(request.kind, verdict), agrees, complete };
}

/**
 * The history above the baseline: only this part counts. An order that is not there, or not in the
 * scope, adds nothing.
 */
async function updatesOf(
  reads: Pick<OrderReads, 'history'>,
  scope: AccountScope,
  stream: Stream,
  orderId: string,
  { baseline }: Command,
): Promise<Updates> {
  const from = baseline?.revision ?? 0;
  const updates: SettlingUpdate[] = [];
  let pageIsFull = true;
  while (pageIsFull && updates.length < mostUpdates) {
    const page = await reads.history(scope, stream, orderId, updates.at(-1)?.revision ?? from, pageSize);
    updates.push(...(page ?? []).map(({ payload }) => decodeUpdate(payload)));
    pageIsFull = page?.length === pageSize;
  }
  const first = updates[0]?.revision ?? from + 1;
  return { updates, complete: !pageIsFull && first === from + 1 };
}
