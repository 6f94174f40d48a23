export interface Budget {
  readonly perSecond: number;
  readonly burst: number;
}

/**
 * By how much the highest of all windows exceeds what a bucket of `burst`
 * tokens, refilled by `perSecond`, lets through; at most 0 where the budget was
 * kept. Instants in milliseconds, in any order.
 */
export function tokenExcess(instantsMs: readonly number[], { perSecond, burst }: Budget): number {
  let spent = 0;
  let lastMs = 0;
  let excess = Number.NEGATIVE_INFINITY;
  for (const atMs of [...instantsMs].sort((a, b) => a - b)) {
    spent = Math.max(0, spent - ((atMs - lastMs) * perSecond) / 1000) + 1;
    lastMs = atMs;
    excess = Math.max(excess, spent - burst);
  }
  return excess;
}
