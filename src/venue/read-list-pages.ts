import type { ListResult, Page } from './order-reads.ts';
import type { PlatformError } from './platform-error.ts';
import type { ReadResult } from './read-venue.ts';

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
