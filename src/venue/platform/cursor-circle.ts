/**
 * Finds out when a list's cursors go round in a circle, of any length (Brent's algorithm). One
 * cursor is remembered, and replaced after 1, 2, 4, 8 … pages: the circle shows after at most three
 * times around, and nothing grows with the list.
 */
export class CursorCircle {
  private kept: string | undefined;
  private pages = 0;
  private until = 1;

  /** Each page's cursor, in order. True: it was handed out before. */
  closes(cursor: string): boolean {
    if (cursor === this.kept) return true;
    this.pages += 1;
    if (this.pages === this.until) {
      this.kept = cursor;
      this.pages = 0;
      this.until *= 2;
    }
    return false;
  }
}
