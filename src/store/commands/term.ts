/**
 * The shard's term for a write. Every write to the journal carries one, except `addEvidence`,
 * `changeLimits`, approvals and `addToAuditTrail`. It is refused once a later holder has called
 * `takeOver`. Commands have their own fence. So slow journal transactions never wait for the lane's
 * row, nor the other way round.
 */
export interface Fence {
  readonly shard: number;
  readonly epoch: bigint;
}

/**
 * One hold on the shard. All work begun under it ends with it: every wait listens to `over`, and
 * every write to the journal carries `fence`.
 */
export interface Term {
  readonly fence: Fence;
  readonly over: AbortSignal;
}
