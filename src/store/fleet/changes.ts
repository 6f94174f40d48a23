import type { Clock } from '../../runtime/clock.ts';

/**
 * A look at the fleet says this about rows changing a few times a day. Another text: they may have
 * changed. Null: they have to be read.
 */
export type Marks = Readonly<Record<'halts' | 'tokens' | 'logins' | 'repairs' | 'results', string | null>>;

/** A process standing by, or cut off from the database, makes no look. */
const liveMs = 2_000;
/** They are read after so long, whatever the looks say. */
const longestMs = 30_000;

/**
 * Spares reads while their rows are unchanged: one look has a mark for each kind.
 *
 * Invariant: a read is spared only if the newest look, at most `liveMs` old, shows the mark already
 * known when the reader's last good read began. A mark never comes back between two looks.
 */
export class Changes {
  private marks: Marks | undefined;
  private seenMs = Number.NEGATIVE_INFINITY;
  private readonly clock: Pick<Clock, 'monotonicMs'>;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.clock = clock;
  }

  saw(marks: Marks): void {
    this.marks = marks;
    this.seenMs = this.clock.monotonicMs();
  }

  /** The newest look shows no such row. */
  isNone(kind: 'repairs' | 'results'): boolean {
    return this.markOf(kind) === 'none';
  }

  /** For one reader. */
  readerOf(kind: 'halts' | 'tokens' | 'logins'): ReadIfChanged {
    let known: { readonly mark: string; readonly atMs: number } | undefined;
    return async (read) => {
      const mark = this.markOf(kind);
      const atMs = this.clock.monotonicMs();
      if (known !== undefined && mark === known.mark && atMs - known.atMs < longestMs) return;
      known = undefined;
      if ((await read()) && mark !== undefined) known = { mark, atMs };
    };
  }

  private markOf(kind: keyof Marks): string | undefined {
    return this.clock.monotonicMs() - this.seenMs < liveMs ? (this.marks?.[kind] ?? undefined) : undefined;
  }
}

/** Reads unless nothing changed. `read`: false, or a rejection: its answer counts for nothing. */
export type ReadIfChanged = (read: () => Promise<boolean>) => Promise<void>;

/** Without looks. */
export const readAlways: ReadIfChanged = async (read) => {
  await read();
};
