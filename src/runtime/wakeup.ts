/**
 * One waiter, many wakers: `wait` resolves at the next `wake`, or at once when one came since the last `wait`. A loop that waits here never
 * misses work that arrives while it is busy, and never polls.
 */
export class Wakeup {
  private pending = false;
  private waiter: (() => void) | undefined;

  wake(): void {
    const waiter = this.waiter;
    if (waiter === undefined) {
      this.pending = true;
      return;
    }
    this.waiter = undefined;
    waiter();
  }

  wait(): Promise<void> {
    if (this.pending) {
      this.pending = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.waiter = resolve;
    });
  }
}
