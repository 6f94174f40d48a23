import type { Observation, Unreadable } from '../../domain/observation.ts';
import { orderKey } from '../../domain/order.ts';
import type { Logger } from '../../observability/logger.ts';
import { deadLetter } from './dead-letters.ts';
import type { Entry } from './entry.ts';

/** Equal failures in a row, all with an unknown cause, before one entry is suspected. */
const failuresToSearch = 3;
/** Orders tried alone that fail alike, before the failure counts as the database's own. */
const mostTried = 8;

/** Why Postgres did not take a batch. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/**
 * Finds the entry Postgres will not take. The refused batch is tried again in halves, alone on the
 * lane, until a single entry is refused.
 *
 * A refusal that is certainly a row's fault (`poison`) is enough. One with an unknown cause may be
 * due to one row, or to the whole database (read only, a table damaged or gone). Then the entry is
 * guilty only if a batch with another order has committed since the search began (`othersPass`).
 *
 * Invariant: `limit` is the largest batch allowed now. It is below the normal size only while
 * suspects are left.
 */
export class PoisonSearch {
  private suspects = 0;
  private suspectLimit = 0;
  private failure = { code: '', count: 0 };
  private readonly failedAlone = new Set<Entry>();
  /** A batch with an order has committed since the search began. */
  othersPass = false;
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

  /**
   * A batch failed with an unknown cause. True: it has failed often enough to look for one entry.
   */
  failed(code: string): boolean {
    if (code !== this.failure.code) {
      this.failure = { code, count: 0 };
      this.othersPass = false;
    }
    this.failure.count += 1;
    return this.failure.count >= failuresToSearch;
  }

  /** A batch of `count` entries was committed. `wroteOrder`: the database took an order with it. */
  passed(count: number, wroteOrder: boolean): void {
    this.suspects = Math.max(0, this.suspects - count);
    if (wroteOrder) this.othersPass = true;
    if (!this.searching) this.end();
  }

  /**
   * `entry` failed alone, and no other order has passed. Returns the place in `waiting` of an entry
   * for another order, to be tried before it; -1: there is none. The search ends when one order
   * after another fails alike.
   */
  anotherToTry(entry: Entry, waiting: readonly Entry[]): number {
    this.failedAlone.add(entry);
    if (this.failedAlone.size > mostTried) {
      this.end();
      return -1;
    }
    const failedKeys = new Set([...this.failedAlone].map(keyOf));
    const place = waiting.findIndex((each) => each.kind === 'order' && !failedKeys.has(keyOf(each)));
    if (place >= 0) this.suspects += 1;
    return place;
  }

  private end(): void {
    this.suspects = 0;
    this.failure = { code: '', count: 0 };
    this.failedAlone.clear();
    this.othersPass = false;
  }
}

function keyOf(entry: Entry): string | undefined {
  return entry.kind === 'order' ? orderKey(entry.view.stream, entry.view.orderId) : undefined;
}

/** The entry to store instead of a refused one. Undefined: nothing of it can be kept but a line. */
export function storedInstead(entry: Entry, { code, message }: Refusal, log: Logger): Entry | undefined {
  const kept = asDeadLetter(entry, code);
  if (kept === undefined)
    log.error({ code, entry }, 'Postgres refuses an entry even as a dead letter; this line is all that is left of it');
  else log.error({ code, reason: message, kind: entry.kind }, 'Postgres refuses an entry; it becomes a dead letter');
  return kept;
}

/**
 * An observation becomes a dead letter. If that row is refused itself, it is kept in base64,
 * because no encoding fault survives that. Undefined: even base64 was refused, or nothing can be
 * kept.
 */
function asDeadLetter(entry: Entry, code: string): Entry | undefined {
  if (entry.kind === 'order') return unreadable(entry, code);
  if (entry.kind !== 'unreadable' || entry.reason === 'poison_raw') return undefined;
  const raw = Buffer.from(entry.raw).toString('base64');
  const { accountId: _account, orderId: _order, ...rest } = entry;
  return { ...rest, reason: 'poison_raw', detail: `kept in base64: Postgres refused the text (${code})`, raw };
}

function unreadable(observation: Observation, code: string): Unreadable {
  const { cause, receivedMs, bytes, onResult } = observation;
  const row = deadLetter(observation, 'poison', `Postgres refused it with SQLSTATE ${code}`);
  return { kind: 'unreadable', ...row, cause, receivedMs, bytes, ...(onResult && { onResult }) };
}
