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
export function rowsInView({ top, height, count, rowHeight }: Seen): { readonly first: number; readonly end: number } {
  const end = Math.min(count, Math.ceil((top + height) / rowHeight) + spare);
  return { first: Math.max(0, Math.min(end, Math.floor(top / rowHeight) - spare)), end };
}
