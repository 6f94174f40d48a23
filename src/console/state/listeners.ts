/** Functions that want each value as it comes. */
export class Listeners<T> {
  private readonly all = new Set<(value: T) => void>();

  /** Until `signal` aborts. */
  add(listener: (value: T) => void, signal: AbortSignal): void {
    this.all.add(listener);
    signal.addEventListener('abort', () => this.all.delete(listener), { once: true });
  }

  call(value: T): void {
    for (const listener of this.all) listener(value);
  }
}
