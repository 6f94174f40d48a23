import type { Head } from '../domain/head.ts';

/**
 * The newest heads, in memory, least recently used first out.
 *
 * Invariant: a head that a batch in flight has changed is pinned, and a pinned head is never evicted by size: the database doesn't have it yet,
 * so reading it back would bring the state before the change. What is not here is read from the store; nothing depends on being here.
 */
export class HeadCache {
  private readonly heads = new Map<string, Head>();
  private readonly pins = new Map<string, number>();
  private readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get size(): number {
    return this.heads.size;
  }

  get(key: string): Head | undefined {
    const head = this.heads.get(key);
    if (head !== undefined) {
      this.heads.delete(key);
      this.heads.set(key, head);
    }
    return head;
  }

  has(key: string): boolean {
    return this.heads.has(key);
  }

  set(key: string, head: Head): void {
    this.heads.delete(key);
    this.heads.set(key, head);
  }

  pin(key: string): void {
    this.pins.set(key, (this.pins.get(key) ?? 0) + 1);
  }

  unpin(key: string): void {
    const count = this.pins.get(key) ?? 0;
    if (count <= 1) this.pins.delete(key);
    else this.pins.set(key, count - 1);
  }

  /** After a failure: what is here may never have been committed. */
  evict(key: string): void {
    this.heads.delete(key);
  }

  clear(): void {
    this.heads.clear();
    this.pins.clear();
  }

  /** Back to the capacity, passing over what is pinned. */
  trim(): void {
    let excess = this.heads.size - this.capacity;
    if (excess <= 0) return;
    for (const key of this.heads.keys()) {
      if (excess <= 0) return;
      if (this.pins.has(key)) continue;
      this.heads.delete(key);
      excess -= 1;
    }
  }
}
