import { comparePositions, type UpdatePosition } from '../../service/log/update-position.ts';
import type { AuditedOrder } from '../../store/commands/audit-reads.ts';
import type { StrayRecord } from './topic-fold.ts';

/**
 * The hop with the loss, in the order of the data path. `database`: a topic has more than the
 * database, so the database lost commits. `log`: the log differs from the order. `relay`: not
 * acknowledged yet. `updates`, `state`: the topic lacks an acknowledged record. `foreign`: a record
 * that Tidemark did not write.
 */
export type Hop = 'database' | 'standby' | 'log' | 'relay' | 'updates' | 'state' | 'foreign';

export interface VerifyFinding {
  readonly hop: Hop;
  /** `<stream>:<orderId>`, or the key of a foreign record. Left out: it concerns several orders. */
  readonly key?: string;
  /** One sentence. */
  readonly detail: string;
}

/** The records of one order on the topics. */
export interface OnTopics {
  /** Undefined: nothing. */
  readonly updates: UpdatePosition | undefined;
  readonly state: UpdatePosition | undefined;
  /** The record on the state topic in place of the order's state. */
  readonly stray?: StrayRecord | undefined;
  /** A revision skipped on the topic. */
  readonly hole: number | undefined;
  /** The updates topic keeps nothing older than this. Undefined: that topic was not read. */
  readonly keptSinceMs: number | undefined;
  /** How far each topic has acknowledged the relay's records; undefined: all. */
  readonly acknowledged: Acknowledged;
}

/** Seqs of the relay's cursors while rows wait behind them. */
export interface Acknowledged {
  readonly log: bigint | undefined;
  readonly state: bigint | undefined;
}

/** Compares the database with the topics for one order. Pure. */
export function judgeOrder(order: AuditedOrder, topics: OnTopics): VerifyFinding[] {
  const key = `${order.stream}:${order.orderId}`;
  const { revision, newest, holes, stateless } = order;
  const findings: VerifyFinding[] = [];
  const found = (hop: Hop, detail: string) => findings.push({ hop, key, detail });
  if (newest !== undefined && newest.revision !== revision)
    found('log', `the order is at revision ${revision}, and its newest row in the log at ${newest.revision}`);
  if (stateless) found('log', 'its newest row, which has its state, is not in the log');
  if (holes > 0) found('log', `${holes} of its revisions ${holes === 1 ? 'is' : 'are'} not in the log`);

  const ahead = [topics.updates, topics.state].find((at) => at !== undefined && isAhead(at, order));
  if (ahead !== undefined)
    found(
      'database',
      `Kafka has revision ${ahead.revision} of generation ${ahead.generation}, the database revision ${revision}`,
    );
  const waits = (cursor: keyof Acknowledged) => {
    const upTo = topics.acknowledged[cursor];
    return upTo !== undefined && newest !== undefined && newest.seq > upTo;
  };
  const expected = topics.keptSinceMs !== undefined && newest !== undefined && newest.recordedMs >= topics.keptSinceMs;
  if (expected && isBehind(topics.updates, order)) {
    if (waits('log')) found('relay', `revision ${revision} waits for the topic of updates`);
    else found('updates', `revision ${revision} is not on the topic of updates${standing(topics.updates)}`);
  }
  if (topics.hole !== undefined)
    found('updates', `revision ${topics.hole} is missing on the topic of updates, between others`);
  if (isBehind(topics.state, order)) {
    if (waits('state')) found('relay', `revision ${revision} waits for the state topic`);
    else
      found('state', `revision ${revision} is not on the state topic${standing(topics.state)}${inPlace(topics.stray)}`);
  }
  return findings;
}

/** Without a row in the log the order's generation is not known, so the topic's counts. */
function isAhead(at: UpdatePosition, { revision, newest }: AuditedOrder): boolean {
  const { generation = at.generation, revision: logged = 0 } = newest ?? {};
  return comparePositions(at, { generation, revision: Math.max(revision, logged) }) > 0;
}

function isBehind(at: UpdatePosition | undefined, { revision, newest }: AuditedOrder): boolean {
  return at === undefined || comparePositions(at, { generation: newest?.generation ?? at.generation, revision }) < 0;
}

function inPlace(stray: StrayRecord | undefined): string {
  if (stray === undefined) return '';
  const what = stray.kind === 'tombstone' ? 'a tombstone deletes it' : 'a record that is not an update is in its place';
  return `: ${what} (partition ${stray.partition}, offset ${stray.offset})`;
}

function standing(at: UpdatePosition | undefined): string {
  return at === undefined
    ? ''
    : `, which ends at revision ${at.revision}${at.generation > 1 ? ` of generation ${at.generation}` : ''}`;
}
