import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type { ListRequest, ListResult, OrderReads, Page } from './order-reads.ts';
import type { PlatformError } from './platform-error.ts';
import { type Dialect, type ReadDeps, type ReadResult, readVenue } from './read-venue.ts';

/** How the pages of a venue's list are read. `Cursor`: whatever tells one page from another. */
interface PageReads<Cursor, Shown> {
  readonly first: Cursor;
  readonly read: (cursor: Cursor) => Promise<ReadResult>;
  /** Undefined: the answer is no page. */
  readonly pageOf: (answer: unknown) => Shown | undefined;
  /** Where the next page begins. Undefined: this was the last. */
  readonly nextOf: (page: Shown, cursor: Cursor) => { readonly cursor: Cursor } | ListFault | undefined;
}

interface ListFault {
  readonly complete: false;
  readonly error: PlatformError;
}

/** Beyond so many, a list is a cursor that does not move rather than an account. */
const maxPages = 20_000;

/** A page. It says where the next one begins, unless it is the last. */
interface CursorPage extends Pick<Page, 'rows'> {
  readonly nextCursor?: string | undefined;
}

/** Each page hands out the next one's cursor. `urlOf`: a page's address. `shapeOf`: its shape. */
export function listByCursor(
  deps: ReadDeps,
  dialect: Dialect,
  urlOf: (request: ListRequest, cursor: string | undefined) => string,
  shapeOf: (request: ListRequest) => z.ZodType<CursorPage>,
): OrderReads['listOrders'] {
  return (request, onPage, signal, budget) => {
    const read = (cursor: string | undefined) =>
      readVenue({ ...deps, budget }, dialect, { operation: 'list_orders', url: urlOf(request, cursor) }, signal);
    const pageOf = (answer: unknown) => shapeOf(request).safeParse(answer).data;
    return readListPages({ first: undefined, read, pageOf, nextOf: cursorsInOrder() }, onPage, signal);
  };
}

/** A page may be empty: the venue looks for our rows among others'. So many in a row are an end. */
const maxEmptyPages = 200;

/** Where each page goes on, unless the pages go round in a circle. */
function cursorsInOrder() {
  const circle = new CursorCircle();
  let before: readonly unknown[] = [];
  let empty = 0;
  return ({ rows, nextCursor }: CursorPage) => {
    if (nextCursor === undefined) return undefined;
    if (circle.closes(nextCursor)) return listFault('LOOP', 'the list hands out the same cursor again');
    // Cursors that always differ, in front of one page.
    if (rows.length > 0 && isDeepStrictEqual(rows, before))
      return listFault('LOOP', 'the list hands out the same page again');
    empty = rows.length === 0 ? empty + 1 : 0;
    if (empty > maxEmptyPages) return listFault('LOOP', 'the list goes on with empty pages, each with a new cursor');
    before = rows;
    return { cursor: nextCursor };
  };
}

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

/** All pages of a list, one after the other, each handed over before the next is asked for. */
export async function readListPages<Cursor, Shown extends Pick<Page, 'rows'>>(
  { first, read, pageOf, nextOf }: PageReads<Cursor, Shown>,
  onPage: (page: Page) => Promise<void>,
  signal: AbortSignal,
): Promise<ListResult> {
  let cursor = first;
  let rows = 0;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const answer = await read(cursor);
    if (!answer.ok) return { complete: false, error: answer.error };
    const page = pageOf(answer.value);
    if (page === undefined) return listFault('BAD_ANSWER', 'the list has another shape than its documents say');
    await onPage({ rows: page.rows, bytes: answer.bytes });
    rows += page.rows.length;
    if (signal.aborted) return listFault('NO_ANSWER', 'given up by the caller');
    const next = nextOf(page, cursor);
    if (next === undefined) return { complete: true, rows };
    if ('error' in next) return next;
    cursor = next.cursor;
  }
  return listFault('LOOP', `the list has more than ${maxPages} pages`, false);
}

/** The list ends here without being complete. `LOOP`: it would never end. */
export function listFault(code: 'BAD_ANSWER' | 'NO_ANSWER' | 'LOOP', message: string, retryable = true): ListFault {
  return { complete: false, error: { code, message, retryable, sent: 'yes' } };
}
