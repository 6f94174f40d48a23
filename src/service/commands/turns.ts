/**
 * Runs the work of one account (or one command) in turn where it is about the same thing, and all
 * other work side by side.
 *
 * Invariant: of an owner's pieces about one thing at most one runs, and at most `maxWaiting` of the
 * owner run or wait. Nothing is kept for an owner without work.
 */
export class Turns {
  private readonly owners = new Map<string, { pieces: number; readonly tails: Map<string, Promise<void>> }>();
  private readonly maxWaiting: number;

  constructor(maxWaiting = Number.POSITIVE_INFINITY) {
    this.maxWaiting = maxWaiting;
  }

  /**
   * `about`: what the owner's other pieces may collide on. Resolves when the turn comes; the turn
   * ends with what it resolves to. Undefined: too many of the owner wait already.
   */
  take(ownerId: string, about = ''): Promise<Disposable> | undefined {
    const owner = this.owners.get(ownerId) ?? { pieces: 0, tails: new Map() };
    if (owner.pieces >= this.maxWaiting) return undefined;
    this.owners.set(ownerId, owner);
    owner.pieces += 1;
    const { promise: over, resolve: leave } = Promise.withResolvers<void>();
    const before = owner.tails.get(about) ?? Promise.resolve();
    owner.tails.set(about, over);
    const end = () => {
      owner.pieces -= 1;
      if (owner.tails.get(about) === over) owner.tails.delete(about);
      if (owner.pieces === 0) this.owners.delete(ownerId);
      leave();
    };
    return before.then(() => ({ [Symbol.dispose]: end }));
  }
}
