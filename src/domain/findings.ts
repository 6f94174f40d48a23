import { factOf, type SeenPending } from './above-baseline.ts';
import type { Reason } from './command.ts';
import type { Because, Finding, SettlingUpdate, Verdict } from './settling.ts';

/** A verdict read off one update of the order that a replace or cancel named. */
export function verdictBy(
  update: SettlingUpdate,
  outcome: Exclude<Verdict['outcome'], 'accepted'>,
  because: Because,
  reason?: Reason,
): Verdict {
  return {
    kind: 'verdict',
    outcome,
    event: `verdict_${outcome}`,
    because,
    orderId: update.order.orderId,
    ...(reason === undefined ? {} : { reason }),
    evidence: factOf(because, update),
  };
}

export function reachedBy(update: SettlingUpdate, { revision, sourceVersion }: SeenPending): Finding {
  const at = sourceVersion === undefined ? { revision } : { revision, sourceVersion };
  return { kind: 'reached', at, evidence: factOf('seen_pending', update) };
}

export function flaggedBy(update: SettlingUpdate): Finding {
  return { kind: 'flagged', because: 'source_epoch_changed', evidence: factOf('source_epoch_changed', update) };
}
