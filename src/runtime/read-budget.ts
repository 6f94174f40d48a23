/** The cost that one read may have, where requests are counted. */
export interface ReadBudget {
  /** A request leaves. Never waits: a read that has begun is not left half done, and others wait the longer. */
  spend(): void;
  /** Whether a request that failed may be made again. False: the read has failed, and its turn comes again. */
  mayRepeat(): boolean;
}
