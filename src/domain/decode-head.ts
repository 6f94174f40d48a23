import type { Head } from './head.ts';
import type { Order } from './order.ts';

/** A head as it is stored: two JSON texts, the revision, and the version as decimal digits. */
export interface StoredHead {
  readonly state: string;
  readonly join: string;
  readonly revision: number;
  readonly sourceVersion: string | null;
}

/** The way back from Postgres. What was stored is ours and is trusted; throws only on text that isn't JSON, or a version that isn't digits. */
export function decodeHead(row: StoredHead): Head {
  const order = JSON.parse(row.state) as Order;
  const join = JSON.parse(row.join) as Head['join'];
  if (row.sourceVersion === null) return { order, revision: row.revision, join };
  return { order, revision: row.revision, sourceVersion: BigInt(row.sourceVersion), join };
}
