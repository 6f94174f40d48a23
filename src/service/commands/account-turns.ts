/**
 * Runs one account's work in turn where it is about the same thing, and all other work side by
 * side. A command's checks and its journaling must not interleave with a command that the checks
 * hold it against: otherwise two equal places would both find nothing unresolved before them.
 *
 * Invariant: of an account's pieces about one thing at most one runs, and at most `maxWaiting` of
 * the account run or wait. Nothing is kept for an account without work.
 */
export class AccountTurns {
  private readonly accounts = new Map<string, { pieces: number; readonly tails: Map<string, Promise<void>> }>();
  private readonly maxWaiting: number;

  constructor(options: { readonly maxWaiting: number }) {
    this.maxWaiting = options.maxWaiting;
  }

  /**
   * `about`: what the account's other pieces may collide on. Resolves when the turn comes; the turn
   * ends with what it resolves to. Undefined: too many of the account wait already.
   */
  take(accountId: string, about = ''): Promise<Disposable> | undefined {
    const account = this.accounts.get(accountId) ?? { pieces: 0, tails: new Map() };
    if (account.pieces >= this.maxWaiting) return undefined;
    this.accounts.set(accountId, account);
    account.pieces += 1;
    const { promise: over, resolve: leave } = Promise.withResolvers<void>();
    const before = account.tails.get(about) ?? Promise.resolve();
    account.tails.set(about, over);
    const end = () => {
      account.pieces -= 1;
      if (account.tails.get(about) === over) account.tails.delete(about);
      if (account.pieces === 0) this.accounts.delete(accountId);
      leave();
    };
    return before.then(() => ({ [Symbol.dispose]: end }));
  }
}
