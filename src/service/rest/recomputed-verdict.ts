import type { CommandWithEvidence } from '../../domain/command.ts';
import { decodeUpdate } from '../../domain/encode-update.ts';
import { recomputeVerdict } from '../../domain/recompute-verdict.ts';
import type { SettlingUpdate } from '../../domain/settling.ts';
import { verdictRule } from '../../domain/verdict-rule.ts';
import type { AccountScope, OrderReads } from '../../store/orders/order-reads.ts';

/** Of all its orders together, the newest of each: a history is read from its newest end. */
const mostUpdates = 500;
const mostOrders = 4;

interface Updates {
  readonly updates: readonly SettlingUpdate[];
  /** False: there are more, or the log does not have the first ones any more. */
  readonly complete: boolean;
}

/**
 * The verdict again, from the facts alone, with its rule: `{ state, because, rule, agrees, complete
 * }`. `agrees` is about the command as it was read before: an update may have been stored since
 * then, and the step from it comes within moments. `rows`: how many updates `recompute` will read.
 */
export async function planVerdict(
  reads: Pick<OrderReads, 'getOrder' | 'history'>,
  scope: AccountScope,
  { command, evidence }: CommandWithEvidence,
) {
  const { request, orderId, baseline } = command;
  const named = evidence.map(({ detail }) => detail['orderId']).filter((id) => typeof id === 'string');
  const orderIds = [...new Set(orderId === undefined ? named : [orderId, ...named])];
  const looked = orderIds.slice(0, mostOrders);
  const most = Math.floor(mostUpdates / Math.max(1, looked.length));
  const base = baseline?.revision ?? 0;
  const runs = await Promise.all(
    looked.map(async (id) => {
      // An order that is not there, or not in the scope, adds nothing.
      const { revision = 0 } = (await reads.getOrder(scope, request.stream, id)) ?? {};
      return { id, above: Math.max(base, revision - most), rows: Math.max(0, Math.min(most, revision - base)) };
    }),
  );
  /** Only the history above the baseline counts. */
  const updatesOf = async ({ id, above }: (typeof runs)[number]): Promise<Updates> => {
    const page = await reads.history(scope, request.stream, id, above, most + 1);
    const updates = (page ?? []).map(({ payload }) => decodeUpdate(payload));
    return { updates, complete: updates.length <= most && (updates[0]?.revision ?? above + 1) === base + 1 };
  };
  const recompute = async () => {
    const known = await Promise.all(runs.map(updatesOf));
    const verdict = recomputeVerdict(
      command,
      evidence,
      known.flatMap(({ updates }) => updates),
    );
    const isWhole = looked.length === orderIds.length && evidence.every(({ number }, at) => number === at + 1);
    const complete = isWhole && known.every((each) => each.complete);
    const { state, because, agrees } = verdict;
    return { state, because, rule: verdictRule(request.kind, verdict), agrees, complete };
  };
  return { rows: runs.reduce((sum, { rows }) => sum + rows, 0), recompute };
}
