/**
 * What has to be undone at the end, whatever the end is: the newest first, each once, a failure of
 * one never in the way of the others.
 */
export class Cleanup {
  private steps: (() => Promise<void>)[] = [];
  private running: Promise<void> | undefined;

  /**
   * Ends the process as the signal would, once everything is undone. A second signal does not wait.
   */
  onSignals(): void {
    for (const [signal, number] of [
      ['SIGINT', 2],
      ['SIGTERM', 15],
      ['SIGHUP', 1],
    ] as const) {
      process.on(signal, () => {
        if (this.running !== undefined) process.exit(128 + number);
        void this.run().finally(() => process.exit(128 + number));
      });
    }
  }

  /** Returns the way to do it earlier. */
  add(step: () => Promise<void>): () => Promise<void> {
    const once = async () => {
      if (!this.steps.includes(once)) return;
      this.steps = this.steps.filter((other) => other !== once);
      await step();
    };
    this.steps.push(once);
    return once;
  }

  run(): Promise<void> {
    this.running ??= this.undo();
    return this.running;
  }

  private async undo(): Promise<void> {
    for (let step = this.steps.at(-1); step !== undefined; step = this.steps.at(-1)) {
      await step().catch((error: unknown) => console.error('cleaning up:', error));
    }
  }
}
