/** Functions that want each value as it comes. */
export class Listeners<T> {
  private readonly all = new Set<(value: T) => void>();

  /** Returns a function to end it. */
  add(listener: (value: T) => void): () => void {
    this.all.add(listener);
    return () => this.all.delete(listener);
  }

  call(value: T): void {
    for (const listener of this.all) listener(value);
  }
}
