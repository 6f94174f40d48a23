/**
 * At most `atOnce` pieces of work at a time, in the order in which they were asked for. A thousand accounts that connect together would otherwise queue their
 * subscriptions, and their lists behind a few HTTP connections, until the deadlines of most had passed, and begin again.
 */
export class Window {
  private running = 0;
  private readonly waiting: (() => void)[] = [];
  private readonly atOnce: number;

  constructor(atOnce: number) {
    this.atOnce = atOnce;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= this.atOnce) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running += 1;
    try {
      return await work();
    } finally {
      // The place is handed over, not given up: nobody can slip in between.
      const next = this.waiting.shift();
      if (next === undefined) this.running -= 1;
      else next();
    }
  }
}
