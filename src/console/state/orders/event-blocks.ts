/** One server-sent event (WHATWG HTML, section 9.2). A block without data has an id alone. */
export interface EventBlock {
  readonly id?: string;
  readonly event: string;
  /** Undefined: nothing is to be dispatched, only the id moves on. */
  readonly data?: string;
}

/** The largest record is far smaller; a stream with more before a line end is none of ours. */
const longestBlock = 4 * 1024 * 1024;

/**
 * Cuts a stream's text into events. Text may come in any pieces; a line may end with CR, LF or
 * both.
 */
export class EventBlocks {
  private rest = '';
  private block: { id?: string; event: string; data?: string } = { event: 'message' };
  private size = 0;

  /** The events completed by this piece. Throws when a block is too long. */
  feed(piece: string): EventBlock[] {
    const blocks: EventBlock[] = [];
    const text = this.rest + piece;
    let from = 0;
    for (;;) {
      const end = lineEnd(text, from);
      if (end === undefined) break;
      this.line(text.slice(from, end.at), blocks);
      from = end.next;
    }
    this.rest = text.slice(from);
    if (this.rest.length + this.size > longestBlock) throw new Error('an event of the stream is too long');
    return blocks;
  }

  private line(line: string, blocks: EventBlock[]): void {
    if (line === '') {
      if (this.block.id !== undefined || this.block.data !== undefined) blocks.push(this.block);
      this.block = { event: 'message' };
      this.size = 0;
      return;
    }
    this.size += line.length;
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'id' && !value.includes('\0')) this.block.id = value;
    else if (field === 'event') this.block.event = value;
    else if (field === 'data') this.block.data = this.block.data === undefined ? value : `${this.block.data}\n${value}`;
  }
}

/**
 * The end of the line, and the start of the next. A CR at the end of the text may be half a CR LF,
 * so it waits for the next piece.
 */
function lineEnd(text: string, from: number): { readonly at: number; readonly next: number } | undefined {
  const feed = text.indexOf('\n', from);
  // Our service ends lines with LF alone: looking for a CR far beyond the line
  // would read the whole piece for every line.
  const line = text.slice(from, feed < 0 ? text.length : feed);
  const turn = line.indexOf('\r');
  if (turn < 0) return feed < 0 ? undefined : { at: feed, next: feed + 1 };
  const at = from + turn;
  if (at + 1 === text.length) return undefined;
  return { at, next: at + 1 === feed ? feed + 1 : at + 1 };
}
