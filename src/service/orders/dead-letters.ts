import { hash } from 'node:crypto';
import type { Observation } from '../../domain/observation.ts';
import { dropOldest } from '../../runtime/drop-oldest.ts';
import type { DeadLetterRow } from '../../store/orders/order-store.ts';

/** The observation as evidence for a person. Ingest has, and compares, only the normalised view. */
export function deadLetter(observation: Observation, reason: string, detail: string) {
  const { view, observedAtMs, sourceVersion } = observation;
  const raw = JSON.stringify({
    ...view,
    ...(sourceVersion !== undefined && { version: sourceVersion.toString() }),
  });
  const { stream, accountId, orderId } = view;
  return {
    stream,
    accountId,
    orderId,
    reason,
    detail,
    raw: raw.slice(0, 64 * 1024),
    observedAtMs,
  } satisfies DeadLetterRow;
}

/** Of a row's reason and content. */
export function digestOf({ reason, raw }: DeadLetterRow): string {
  return hash('sha256', `${reason} ${raw}`, 'base64');
}

/** 150 bytes each. */
const mostKnown = 10_000;

/**
 * By order, the digest of its last dead letter from a list. Lists show the row again each minute,
 * and dead letters are bounded: one order would push all others out. So it is kept once for each
 * content. Called once they are committed, so a failed batch leaves nothing out.
 */
export function rememberDeadLetters(known: Map<string, string>, committed: ReadonlyMap<string, string>): void {
  for (const [key, digest] of committed) known.set(key, digest);
  dropOldest(known, mostKnown);
}
