/**
 * Runs the work of one account in turn, and of different accounts side by side. The checks and the
 * journaling of a command must not interleave with those of another command of the same account:
 * otherwise two equal places would both find nothing unresolved before them.
 *
 * Invariant: at most one piece of work of an account runs, and at most `maxWaiting` wait. Nothing
 * is kept for an account that has no work.
 */
export class AccountTurns {
  private readonly lines = new Map<string, { tail: Promise<unknown>; length: number }>();
  private readonly maxWaiting: number;

  constructor(options: { readonly maxWaiting: number }) {
    this.maxWaiting = options.maxWaiting;
  }

  /** Undefined: too many are waiting already, and `work` was not run. */
  run<T>(accountId: string, work: () => Promise<T>): Promise<T> | undefined {
    const line = this.lines.get(accountId) ?? { tail: Promise.resolve(), length: 0 };
    if (line.length >= this.maxWaiting) return undefined;
    this.lines.set(accountId, line);
    line.length += 1;
    const result = line.tail.then(work);
    const leave = () => {
      line.length -= 1;
      if (line.length === 0) this.lines.delete(accountId);
    };
    line.tail = result.then(leave, leave);
    return result;
  }
}
