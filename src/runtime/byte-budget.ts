/** One holder's part of a budget. */
export interface ByteShare {
  /** False: there is no room, and nothing was taken. */
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
  giveBackAll(): void;
}

interface ShareOptions {
  /** When it aborts, all bytes are given back, and none can be taken any more. */
  readonly signal: AbortSignal;
  /**
   * It may be held for hours. It is taken only while less than half the budget is in use, so the
   * other half is left to holders that give back soon. Otherwise orders remembered for long would
   * end the audits for as long.
   */
  readonly lasting?: boolean;
}

/**
 * Bytes of memory shared by many holders. They are estimates: a text, and the cost of a map entry
 * around it.
 *
 * Invariant: the sum of all shares never passes `maxBytes`. Nothing waits for room: the holder
 * gives up the data it was about to keep. Either that is visible, or the data comes again.
 */
export class ByteBudget {
  private used = 0;
  private readonly options: { readonly maxBytes: number; readonly onUse?: (usedBytes: number) => void };

  constructor(options: ByteBudget['options']) {
    this.options = options;
  }

  get usedBytes(): number {
    return this.used;
  }

  share({ signal, lasting = false }: ShareOptions): ByteShare {
    const most = lasting ? this.options.maxBytes / 2 : this.options.maxBytes;
    let held = 0;
    const giveBack = (bytes: number) => {
      const given = Math.min(bytes, held);
      held -= given;
      this.use(-given);
    };
    const share: ByteShare = {
      take: (bytes) => {
        if (signal.aborted || this.used + bytes > most) return false;
        held += bytes;
        this.use(bytes);
        return true;
      },
      giveBack,
      giveBackAll: () => giveBack(held),
    };
    signal.addEventListener('abort', share.giveBackAll, { once: true });
    return share;
  }

  private use(bytes: number): void {
    if (bytes === 0) return;
    this.used += bytes;
    this.options.onUse?.(this.used);
  }
}

/**
 * Approximate cost of a map entry in addition to its name: its object, two instants or counters,
 * its place in the table.
 */
const besideName = 160;

export function entryBytes(name: string): number {
  return name.length + besideName;
}

/** Entries by name, each in a share for as long as it is kept. */
export class BudgetedMap<Value> extends Map<string, Value> {
  private readonly room: ByteShare;

  constructor(room: ByteShare) {
    super();
    this.room = room;
  }

  /** False: there is no room for one more. */
  keep(name: string, value: Value): boolean {
    if (!this.has(name) && !this.room.take(entryBytes(name))) return false;
    this.set(name, value);
    return true;
  }

  /** False: it was not kept. */
  override delete(name: string): boolean {
    const isKept = super.delete(name);
    if (isKept) this.room.giveBack(entryBytes(name));
    return isKept;
  }

  override clear(): void {
    for (const name of this.keys()) this.delete(name);
  }
}
