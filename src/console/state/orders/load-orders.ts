import { pause } from '../ports.ts';
import type { Page, RestDeps } from '../rest.ts';
import type { ListedOrder } from './order-row.ts';

/** `cut`: there are more than `most`. */
export type LoadEnd =
  | { readonly kind: 'all' }
  | { readonly kind: 'cut' }
  | { readonly kind: 'failed'; readonly why: string };

export interface LoadOptions {
  /**
   * `open`: by id, the cheap way to all. `over`: the last changed first, since there may be years.
   */
  readonly which: 'open' | 'over';
  readonly most: number;
}

const pageSize = 500;
const mostTries = 6;
const queries = { open: { open: 'true' }, over: { open: 'false', sort: '-updatedAt' } } as const;

/**
 * Reads orders page by page, and gives each page to `take` at once: the
 * first rows show before the last are read.
 */
export async function loadOrders(
  { ports, rest }: RestDeps,
  { which, most }: LoadOptions,
  take: (items: readonly ListedOrder[]) => void,
  signal: AbortSignal,
): Promise<LoadEnd> {
  let cursor: string | undefined;
  let tries = 0;
  for (let read = 0; read < most; ) {
    const query = { ...queries[which], limit: String(pageSize), cursor };
    const answer = await rest.get<Page<ListedOrder>>('/v1/orders', query, signal);
    if (signal.aborted) return { kind: 'failed', why: 'it was left' };
    if (answer.kind !== 'ok') {
      tries += 1;
      const mayTryAgain = answer.kind === 'away' || answer.status === 429 || answer.status >= 500;
      if (!mayTryAgain || tries >= mostTries)
        return { kind: 'failed', why: answer.kind === 'away' ? 'the service does not answer' : answer.detail };
      await pause(ports, answer.kind === 'problem' ? (answer.retryAfterMs ?? 1_000) : 1_000, signal);
      continue;
    }
    tries = 0;
    take(answer.body.items);
    read += answer.body.items.length;
    cursor = answer.body.next;
    if (cursor === undefined) return { kind: 'all' };
  }
  return { kind: 'cut' };
}
