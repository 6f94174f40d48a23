import type { ReadDeps } from './read-platform.ts';
import { type Fetched, readShape } from './read-shape.ts';
import { type Owner, type OwnershipQuery, ownership, ownershipPath } from './wire/ownership.ts';

/** Who holds a company's shares (specification, "GET /v1/ownership/data"). Empty for a symbol that the platform doesn't know. */
export async function readOwnership(
  deps: ReadDeps,
  baseUrl: string,
  query: OwnershipQuery,
  signal: AbortSignal,
): Promise<Fetched<Owner[]>> {
  const url = `${baseUrl}${ownershipPath}`;
  const answer = await readShape(deps, { operation: 'ownership', url, query, shape: ownership }, signal);
  return answer.ok ? { ok: true, value: answer.value.data } : answer;
}
