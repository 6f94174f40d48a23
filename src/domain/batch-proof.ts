/**
 * Ingest's statement about the updates in some batches of a lane. It lets a consumer check that it
 * has them all (docs/consuming.md, "Proof"). Proofs follow one another: `after` is the `upTo` of
 * the one before. A consumer that finds a distance has lost a proof, or a term began without
 * knowing the last.
 */
export interface BatchProof {
  readonly lane: number;
  readonly generation: number;
  /** The batches above this one, up to and with `upTo`. */
  readonly after: bigint;
  readonly upTo: bigint;
  /** How many updates they have. */
  readonly count: number;
  /**
   * 12 hexadecimal digits: the first 48 bits of each value's SHA-256, summed without carry. The
   * updates' order does not matter to it.
   */
  readonly hash: string;
}
