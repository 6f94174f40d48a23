import type { Order } from './order.ts';
import type { SettlingUpdate } from './settling.ts';

/** The record of `encode-update.ts`, as far as verdicts need it. */
interface Payload {
  readonly revision: number;
  readonly sourceVersion?: string;
  readonly sourceEpoch?: number;
  readonly cause: string;
  readonly observedAt: string;
  readonly order: Order;
}

/** The payload of one accepted change, for verdicts: from a batch that was handed over, or read back from the log. Throws on text that ingest did not write. */
export function decodeUpdate(payload: string): SettlingUpdate {
  const { revision, sourceVersion, sourceEpoch, cause, observedAt, order } = JSON.parse(payload) as Payload;
  return {
    revision,
    sourceEpoch: sourceEpoch ?? order.sourceEpoch ?? 0,
    ...(sourceVersion !== undefined && { sourceVersion: BigInt(sourceVersion) }),
    cause,
    observedAtMs: Date.parse(observedAt),
    order,
  };
}
