import { decodeOrder } from '../../connectors/decode-order.ts';
import { compareInstants } from '../../domain/instant.ts';
import type { Order, OrderView, Stream } from '../../domain/order.ts';
import { parseJson } from '../../platform/parse-json.ts';

/** One line of the sandbox's `GET /state`: the present truth of an order, as the platform itself holds it. */
export interface TruthLine {
  readonly stream: Stream;
  readonly accountId: string;
  readonly orderId: string;
  readonly version?: string;
  readonly order: unknown;
}

export function parseTruth(line: string): TruthLine {
  return parseJson(line) as TruthLine;
}

/** The fields in which we must agree with the platform once nothing is under way. */
const compared = [
  'status',
  'statusRaw',
  'pendingAction',
  'quantity',
  'price',
  'stopPrice',
  'cumQty',
  'leavesQty',
  'avgPrice',
] as const;

/** Names the fields in which the stored order differs from the truth; empty when they agree. */
export function differences(
  truth: TruthLine,
  stored: { readonly order: Order; readonly sourceVersion: string | null },
): string[] {
  const view = viewOf(truth);
  if (view === undefined) return ['unreadable'];
  const fields = compared.filter((field) => view[field] !== stored.order[field]);
  const moments = compareInstants(view.updatedAt, stored.order.updatedAt);
  return [
    ...fields,
    ...(truth.version !== undefined && truth.version !== stored.sourceVersion ? ['version'] : []),
    ...(moments === 0 ? [] : ['updatedAt']),
  ];
}

function viewOf(truth: TruthLine): OrderView | undefined {
  const { stream, accountId, order } = truth;
  const origin = { stream, accountId, cause: 'probe' as const, sourceEpoch: 0, observedAtMs: 0, receivedMs: 0, bytes: 0 };
  const decoded = decodeOrder(order, origin, () => '');
  return decoded.kind === 'order' ? decoded.view : undefined;
}
