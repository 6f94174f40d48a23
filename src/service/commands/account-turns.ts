/**
 * Runs the work of one account in turn, and of different accounts side by side. The checks and the
 * journaling of a command must not interleave with those of another command of the same account:
 * otherwise two equal places would both find nothing unresolved before them.
 *
 * Invariant: at most one piece of work of an account runs, and at most `maxWaiting` wait. Nothing
 * is kept for an account that has no work.
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
