import type { CommandRequest } from './command.ts';
import { parseInstant } from './instant.ts';

/** What makes two bodies under one Idempotency-Key the same: the request, and what the caller said beside it. */
export interface HashedRequest {
  readonly request: CommandRequest;
  readonly callerRef?: string | undefined;
  readonly supersedes?: string | undefined;
}

/**
 * One text for each request, whatever the order of its fields: decimals are canonical, an instant is its nanoseconds, absent is absent. Hashed by whoever may
 * (`commands/`): an Idempotency-Key that comes again with another text is another request.
 */
export function canonicalRequest({ request, callerRef, supersedes }: HashedRequest): string {
  return stableJson({ request, callerRef, supersedes });
}

/** Kind, account, order and terms alone: equal texts would do the same thing twice. */
export function canonicalTerms(request: CommandRequest): string {
  return stableJson(request);
}

function stableJson(value: unknown, name = ''): string {
  if (name === 'expireTime') return JSON.stringify(String(parseInstant(value) ?? value));
  if (Array.isArray(value)) return `[${value.map((item) => stableJson(item)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${stableJson(field, key)}`);
  return `{${fields.join(',')}}`;
}
