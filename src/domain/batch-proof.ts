/**
 * A statement of ingest about the updates of some batches of a lane, by which a consumer finds out
 * by itself whether it has all of them (docs/consuming.md, "Proof"). Proofs follow one another:
 * `after` is the `upTo` of the one before. A consumer that finds a distance has lost a proof, or a
 * term began without knowing the last.
 */
export interface BatchProof {
  readonly lane: number;
  readonly generation: number;
  /** The batches above this one, up to and with `upTo`. */
  readonly after: bigint;
  readonly upTo: bigint;
  /** The number of their updates. */
  readonly count: number;
  /**
   * 12 hexadecimal digits: the sum of the first 48 bits of the SHA-256 of each value, without
   * carry. The order of the updates does not matter to it.
   */
  readonly hash: string;
}
