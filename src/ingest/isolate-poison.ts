import type { Observation, Unreadable } from '../domain/observation.ts';
import type { Entry } from './entry.ts';
import { quarantined } from './prepare-batch.ts';

/**
 * Finds the entry that Postgres will not take: the refused batch is tried again in halves, alone on the lane, until a batch of one is refused.
 *
 * Invariant: `limit` is the largest batch that may be sent now; it is below the normal size only while suspects are left.
 */
export class PoisonSearch {
  private suspects = 0;
  private suspectLimit = 0;
  private readonly batchSize: number;

  constructor(batchSize: number) {
    this.batchSize = batchSize;
  }

  get searching(): boolean {
    return this.suspects > 0;
  }

  get limit(): number {
    return this.searching ? this.suspectLimit : this.batchSize;
  }

  /** A batch of `count` entries was refused, and its entries are first in line again. */
  refused(count: number): void {
    this.suspects = Math.max(this.suspects, count);
    this.suspectLimit = Math.max(1, Math.ceil(count / 2));
  }

  /** A batch of `count` entries was settled. */
  passed(count: number): void {
    this.suspects = Math.max(0, this.suspects - count);
  }

  clear(): void {
    this.suspects = 0;
  }
}

/**
 * What is stored instead of a refused entry. An observation becomes a quarantine row; a quarantine row that is itself refused is kept in
 * base64, which no encoding fault survives; undefined when even that was refused, or when nothing of it can be kept.
 */
export function asQuarantine(entry: Entry, code: string): Entry | undefined {
  if (entry.kind === 'order') return unreadable(entry, code);
  if (entry.kind !== 'unreadable' || entry.reason === 'poison_raw') return undefined;
  const raw = Buffer.from(entry.raw).toString('base64');
  const { accountId: _account, orderId: _order, ...rest } = entry;
  return { ...rest, reason: 'poison_raw', detail: `kept in base64: Postgres refused the text (${code})`, raw };
}

function unreadable(observation: Observation, code: string): Unreadable {
  const { cause, observedAtMs, bytes, onOutcome } = observation;
  const row = quarantined(observation, 'poison', `Postgres refused it with SQLSTATE ${code}`);
  return {
    kind: 'unreadable',
    cause,
    stream: observation.view.stream,
    reason: row.reason,
    detail: row.detail,
    raw: row.raw,
    accountId: observation.view.accountId,
    orderId: observation.view.orderId,
    observedAtMs,
    bytes,
    ...(onOutcome === undefined ? {} : { onOutcome }),
  };
}
