import type { LogRow } from '../src/domain/committed-batch.ts';
import type { Stream } from '../src/domain/order.ts';
import { onServer } from './stack.ts';
import type { WritePathRow } from './write-path.ts';

/** What a service wrote in a run, for the bare paths to write again. */
export interface RealRows {
  readonly rows: readonly WritePathRow[];
  readonly records: readonly LogRow[];
}

interface StoredRow {
  stream: Stream;
  order_id: string;
  account_id: string;
  symbol: string;
  status: string;
  source_version: string | null;
  state: string;
  join_state: string;
  payload: string;
}

/** The newest update of up to `limit` orders, beside the state that it led to. */
export async function readRealRows(databaseUrl: string, limit = 5000): Promise<RealRows> {
  const stored = await onServer<StoredRow>(
    databaseUrl,
    `select o.stream, o.order_id, o.account_id, o.symbol, o.status, o.source_version, o.state::text as state,
            o.join_state::text as join_state, u.payload
       from current_orders o cross join lateral (select payload from order_updates u where u.lane = o.lane and u.seq = o.seq limit 1) u limit ${limit}`,
  );
  return {
    rows: stored.map((row) => ({
      head: {
        stream: row.stream,
        orderId: row.order_id,
        accountId: row.account_id,
        symbol: row.symbol,
        status: row.status,
        sourceVersion: row.source_version,
        state: row.state,
        join: row.join_state,
      },
      update: { stream: row.stream, orderId: row.order_id, accountId: row.account_id, payload: row.payload },
    })),
    records: stored.map((row) => ({ topic: 'updates', key: `${row.stream}:${row.order_id}`, payload: row.payload })),
  };
}
