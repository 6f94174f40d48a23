/** Runs `work` at most once at a time: callers that come while it runs share its result or its error. */
export class SingleFlight<T> {
  private current: Promise<T> | undefined;

  run(work: () => Promise<T>): Promise<T> {
    this.current ??= work().finally(() => {
      this.current = undefined;
    });
    return this.current;
  }
}
