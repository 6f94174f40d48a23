/**
 * A process shows that these work right now, as proof for the others. `sockets`: a platform stream
 * is open. `kafka`: Kafka has acknowledged a row from it, or answered its question, within
 * `FitnessRules.proofForMs`.
 */
export type Proof = 'sockets' | 'kafka';

/**
 * A process's report on its own work in its lane's row, so every process can name a fault anywhere.
 * Holds no account id: callers may not see all.
 */
export interface MemberReport {
  /** It follows an account. */
  readonly follows: boolean;
  /**
   * Account streams in its shards that ought to be followed, and that it does not follow
   * (service/sources/accounts-follower.ts).
   */
  readonly unfollowed: number;
  /** Logins it can't use: a person has to sign in, or it has no key for them. */
  readonly unusableLogins: number;
  /** In alphabetical order. */
  readonly works: readonly Proof[];
}

export const emptyReport: MemberReport = { follows: false, unfollowed: 0, unusableLogins: 0, works: [] };
