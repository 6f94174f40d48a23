import type { EventPosition, StreamedUpdate } from '../../../store/orders/order-reads.ts';
import { streamId, updateEvent } from './stream-event.ts';

/** Several updates' events, as bytes for a socket. */
export interface Piece {
  readonly bytes: Uint8Array;
  /** Its last update's seq. */
  readonly lastSeq: bigint;
}

interface Selecting {
  /** The same text for readers that select the same updates. */
  readonly selection: string;
  /** The position in results and halts, a part of every id; undefined if the reader wants none. */
  readonly events: EventPosition | undefined;
  wants(update: StreamedUpdate): boolean;
}

/**
 * Small beside the bytes that a reader may leave untaken, so that a full socket is noticed between
 * two pieces.
 */
const pieceBytes = 64 * 1024;

/**
 * The events from one page of the log, made once for all readers with the same selection. A write
 * for each update and reader costs the service 10 to 20 µs: with ten open consoles, as much as the
 * update itself. A piece has about sixty updates.
 */
export class PagePieces {
  private readonly updates: readonly StreamedUpdate[];
  private readonly made = new Map<string, readonly Piece[]>();

  constructor(updates: readonly StreamedUpdate[]) {
    this.updates = updates;
  }

  /** In the log's order. */
  piecesFor(reader: Selecting): readonly Piece[] {
    const { events } = reader;
    const key = events === undefined ? reader.selection : `${reader.selection} ${events.tx}.${events.number}`;
    const known = this.made.get(key);
    if (known !== undefined) return known;
    const pieces = this.make(reader);
    this.made.set(key, pieces);
    return pieces;
  }

  private make(reader: Selecting): readonly Piece[] {
    const pieces: Piece[] = [];
    let text = '';
    let lastSeq = 0n;
    const cut = () => {
      if (text !== '') pieces.push({ bytes: Buffer.from(text), lastSeq });
      text = '';
    };
    for (const update of this.updates) {
      if (!reader.wants(update)) continue;
      text += updateEvent(update, streamId(update.seq, reader.events));
      lastSeq = update.seq;
      if (text.length >= pieceBytes) cut();
    }
    cut();
    return pieces;
  }
}
