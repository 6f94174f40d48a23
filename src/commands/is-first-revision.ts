import type { LogRow } from '../domain/committed-batch.ts';

/** How far into a payload its revision stands: the ids before it are bounded by ingest. */
const headLength = 2_048;
const first = '"revision":1,"';

/**
 * Whether a row is an order's first revision, which is where orders are bound; without parsing it, since every update of every order that we ever placed comes by.
 * Inside a JSON string the quotes would be escaped, so that no id or text can look like it.
 */
export function isFirstRevision({ payload }: LogRow): boolean {
  return payload.slice(0, headLength).includes(first);
}
