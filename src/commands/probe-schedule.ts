/** Tries by reference, or of the one order: cheap, and an order that landed shows within a second or two. Reconciliation, "Settling unknown". */
const directMs = [250, 500, 1_000, 2_000] as const;
/** Tries by the account's one reader, which judge all unresolved commands of it at once. */
const accountMs = [4_000, 8_000, 15_000, 30_000, 60_000, 120_000] as const;
const minute = 60_000;

export type ProbeKind = 'direct' | 'account';

export interface ProbePlan {
  readonly kind: ProbeKind;
  /** Age at which it is due: milliseconds since the last possible send. */
  readonly atMs: number;
}

/**
 * The first try due after `ageMs`: by age alone, so that a restart or a skipped try falls into the same schedule. After two minutes a tenth of the age passes
 * between tries, at least one minute, at most thirty.
 */
export function nextProbe(ageMs: number): ProbePlan {
  const direct = directMs.find((at) => at > ageMs);
  if (direct !== undefined) return { kind: 'direct', atMs: direct };
  const account = accountMs.find((at) => at > ageMs);
  if (account !== undefined) return { kind: 'account', atMs: account };
  return { kind: 'account', atMs: ageMs + Math.min(30 * minute, Math.max(minute, ageMs / 10)) };
}
