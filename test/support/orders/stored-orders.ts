import type { Leg, Stream } from '../../../src/domain/order.ts';
import type { HeadRow, UpdateRow } from '../../../src/store/orders/order-store.ts';
import { head, update } from './store-rig.ts';

export interface StoredOrderSpec {
  readonly orderId: string;
  readonly stream?: Stream;
  readonly accountId?: string;
  readonly symbol?: string;
  readonly status?: string;
  readonly side?: string;
  readonly leavesQty?: string;
  readonly cumQty?: string;
  readonly certainty?: string;
  readonly outcome?: string;
  readonly legs?: readonly Leg[];
  readonly revision?: number;
  readonly updatedAt?: string;
  readonly origin?: 'tidemark' | 'external';
  readonly references?: Partial<Readonly<Record<'clOrdId' | 'venueOrderId' | 'callerRef' | 'commandId', string>>>;
}

/** An order as the store takes it, with what reads take out of its state. */
export function storedOrder(spec: StoredOrderSpec): { readonly head: HeadRow; readonly update: UpdateRow } {
  const {
    orderId,
    stream = 'prediction',
    accountId = 'acct-1',
    symbol = 'FED-CUT',
    status = 'new',
    revision = 1,
  } = spec;
  const {
    side = 'buy',
    leavesQty = '10',
    cumQty = '0',
    certainty = 'certain',
    outcome,
    legs,
    origin = 'external',
    references,
    updatedAt = '2026-11-21T14:30:00Z',
  } = spec;
  const order = {
    ...{
      stream,
      orderId,
      accountId,
      instrument: {
        kind: 'prediction',
        symbol,
        ...(outcome === undefined ? {} : { outcome }),
        ...(legs === undefined ? {} : { legs }),
      },
      ...{ side, status, statusRaw: status, orderType: 'limit', timeInForce: 'day' },
    },
    ...{
      quantity: '10',
      working: { quantity: leavesQty },
      cumQty,
      leavesQty,
      pendingAction: 'none',
      certainty,
      updatedAt,
      sourceEpoch: 1,
    },
    origin,
    ...references,
  };
  const sourceVersion = stream === 'account' ? null : String(9_007_199_254_740_992n + BigInt(revision));
  const version = sourceVersion === null ? {} : { sourceVersion };
  const payload = JSON.stringify({ revision, ...version, sourceEpoch: 1, cause: 'stream', order });
  return {
    head: head(orderId, revision, { stream, accountId, symbol, status, sourceVersion, state: JSON.stringify(order) }),
    update: update(orderId, revision, { stream, accountId, payload }),
  };
}
