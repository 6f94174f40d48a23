import type { PlatformError } from './platform-error.ts';
import type { ReadDeps } from './read-platform.ts';
import { readShape, unsuccessful } from './read-shape.ts';
import { type OptionsQuote, type OptionsQuotesQuery, optionsQuotes, optionsQuotesPath } from './wire/options-quotes.ts';

/** One page, or why there is no further one: after an error the iteration ends; the pages before it are true but not complete. */
export type QuotesPage =
  | { readonly ok: true; readonly quotes: readonly OptionsQuote[] }
  | { readonly ok: false; readonly error: PlatformError };

/** 50,000 quotes come to 8 MB of text, which is as much as an answer may have here. */
const usualPage = 10_000;

/**
 * All quotes of one option contract, page by page; the next page is asked for when the caller wants it (specification, "GET /v1/options/quotes"). Timestamps
 * keep their nanoseconds, as digits. Only the cursor is taken from `nextUrl`: an answer must not choose where our token is sent.
 */
export async function* readOptionsQuotes(
  deps: ReadDeps,
  baseUrl: string,
  query: Omit<OptionsQuotesQuery, 'next'>,
  signal: AbortSignal,
): AsyncGenerator<QuotesPage, void, undefined> {
  const operation = 'options_quotes';
  const read = { operation, url: `${baseUrl}${optionsQuotesPath}`, shape: optionsQuotes };
  let next: string | undefined;
  for (;;) {
    const answer = await readShape(deps, { ...read, query: { limit: usualPage, ...query, next } }, signal);
    if (!answer.ok) return yield answer;
    const { status, results, nextUrl } = answer.value;
    if (status !== 'OK') return yield unsuccessful(operation, status);
    yield { ok: true, quotes: results };
    if (nextUrl === undefined) return;
    const cursor = cursorOf(nextUrl);
    if (cursor === undefined || cursor === next) return yield circle();
    next = cursor;
  }
}

function cursorOf(nextUrl: string): string | undefined {
  // A relative address is as good: only its query matters.
  const url = URL.parse(nextUrl, 'http://platform.invalid');
  return url?.searchParams.get('next') ?? undefined;
}

function circle(): QuotesPage {
  const message = 'nextUrl holds no cursor, or the one before it';
  return { ok: false, error: { status: 200, code: 'LOOP', message, retryable: true, sent: 'yes' } };
}
