/** A place in the page for one row after the other. */
interface Slot<Row> {
  readonly slot: number;
  readonly row: Row;
  readonly index: number;
}

/**
 * Gives each row in view a slot, and keeps it there while the row stays in view. New rows take the
 * slots of rows that left, so the page changes texts and makes no elements, however fast the list
 * moves. There are as many slots as the most rows ever in view at once.
 */
export class RowSlots<Row extends { readonly key: string }> {
  private byKey = new Map<string, number>();
  private count = 0;

  /** `first`: the index of `rows[0]` in its list. In the order of slots. */
  assign(rows: readonly Row[], first: number): Slot<Row>[] {
    const next = new Map<string, number>();
    for (const { key } of rows) {
      const slot = this.byKey.get(key);
      if (slot !== undefined) next.set(key, slot);
    }
    const taken = new Set(next.values());
    const free: number[] = [];
    for (let slot = this.count - 1; slot >= 0; slot -= 1) if (!taken.has(slot)) free.push(slot);
    for (const { key } of rows) {
      if (next.has(key)) continue;
      next.set(key, free.pop() ?? this.count++);
    }
    this.byKey = next;
    return rows
      .map((row, at) => ({ slot: next.get(row.key) ?? 0, row, index: first + at }))
      .sort((a, b) => a.slot - b.slot);
  }
}

/** Rows drawn beyond each edge, so that a short scroll shows them at once. */
const spare = 8;

interface Seen {
  /** Pixels above the view. */
  readonly top: number;
  /** In pixels. */
  readonly height: number;
  readonly count: number;
  readonly rowHeight: number;
}

/** The rows from `first` up to `end`, without it, in a table with one row height. */
export function rowsInView({ top, height, count, rowHeight }: Seen) {
  const end = Math.min(count, Math.ceil((top + height) / rowHeight) + spare);
  return { first: Math.max(0, Math.min(end, Math.floor(top / rowHeight) - spare)), end };
}
