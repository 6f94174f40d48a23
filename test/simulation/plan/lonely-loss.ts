import type { PublishRow } from '../../../src/service/log/publisher.ts';
import type { LogEntry } from '../database-rows.ts';

/**
 * Waits until the newest commits are all of one lane, bring updates, and are published. Then it
 * strikes, once: with that lane, and with the copy of the database from before those commits.
 */
export class LonelyLoss<Copy> {
  private lane: number | undefined;
  /** From before the first of the newest commits of `lane`. */
  private before: Copy;
  private afterLast: Copy;
  private readonly unpublished = new Set<string>();
  private bringsUpdates = false;
  private done = false;
  private readonly copy: () => Copy;
  private readonly strike: (lane: number, before: Copy) => boolean;

  /** `strike`: false: it can't be now. */
  constructor(copy: () => Copy, strike: (lane: number, before: Copy) => boolean) {
    this.copy = copy;
    this.strike = strike;
    this.before = copy();
    this.afterLast = this.before;
  }

  committed(lane: number, rows: readonly LogEntry[]): void {
    if (this.done) return;
    if (lane !== this.lane) {
      this.lane = lane;
      this.before = this.afterLast;
      this.unpublished.clear();
      this.bringsUpdates = false;
    }
    for (const { payload, topic } of rows) {
      this.unpublished.add(payload);
      if (topic === 'updates') this.bringsUpdates = true;
    }
    this.afterLast = this.copy();
  }

  appended({ payload }: PublishRow): void {
    if (this.done || this.lane === undefined) return;
    this.unpublished.delete(payload);
    if (this.bringsUpdates && this.unpublished.size === 0) this.done = this.strike(this.lane, this.before);
  }
}
