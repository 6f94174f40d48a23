/**
 * Runs one account's work in turn, and different accounts side by side. A command's checks and its
 * journaling must not interleave with another command in the same account: otherwise two equal
 * places would both find nothing unresolved before them.
 *
 * Invariant: for each account at most one piece runs, and at most `maxWaiting` wait. Nothing is
 * kept for an account without work.
 */
export class AccountTurns {
  private readonly lines = new Map<string, { tail: Promise<void>; length: number }>();
  private readonly maxWaiting: number;

  constructor(options: { readonly maxWaiting: number }) {
    this.maxWaiting = options.maxWaiting;
  }

  /**
   * Resolves when the account's turn comes; the turn ends with what it resolves to. Undefined: too
   * many wait already.
   */
  take(accountId: string): Promise<Disposable> | undefined {
    const line = this.lines.get(accountId) ?? { tail: Promise.resolve(), length: 0 };
    if (line.length >= this.maxWaiting) return undefined;
    this.lines.set(accountId, line);
    line.length += 1;
    const { promise: over, resolve: leave } = Promise.withResolvers<void>();
    const before = line.tail;
    line.tail = over;
    const end = () => {
      line.length -= 1;
      if (line.length === 0) this.lines.delete(accountId);
      leave();
    };
    return before.then(() => ({ [Symbol.dispose]: end }));
  }
}
