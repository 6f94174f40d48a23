import type { AskedRead } from './simulated-venue.ts';

export interface Began {
  /** Monotonic: when its first page was asked for. */
  readonly beganMs: number;
  /** Of its first page. */
  readonly after: string | undefined;
}

/** Lists that are read page by page: which of them a page is of. */
export class PagedLists {
  /** By the address of the next page. */
  private readonly began = new Map<string, Began>();

  of({ list, cursor, after }: AskedRead, nowMs: number): Began {
    return this.began.get(`${list} ${cursor}`) ?? { beganMs: nowMs, after };
  }

  /**
   * Two lists side by side may have the same cursor, and the page of the older one may come later
   * (seeds 8897, 14883).
   */
  goesOn({ list }: AskedRead, next: string, { beganMs, after }: Began): void {
    const page = `${list} ${next}`;
    this.began.set(page, { beganMs: Math.max(beganMs, this.began.get(page)?.beganMs ?? beganMs), after });
  }
}
