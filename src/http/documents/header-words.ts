import type { Route } from '../route.ts';
import type { JsonSchema } from './component-schemas.ts';

type HeaderName = NonNullable<Route['headers']>[number];

export const requestHeaders: Readonly<
  Record<HeaderName, { readonly description: string; readonly schema: JsonSchema; readonly required?: true }>
> = {
  'Idempotency-Key': {
    description:
      'Unique for each command of the caller; free again only once that is settled and seven days old. The same key with the same request tells what became of it; with another request it is refused.',
    schema: { type: 'string', pattern: '^[!-~]{1,128}$' },
    required: true,
  },
  Prefer: {
    description: '`wait=N`: holds the answer until the outcome is final, at most N seconds (30)',
    schema: { type: 'string', examples: ['wait=5'] },
  },
  'If-Match': {
    description: 'ETag of the order: only if it is still at that revision, else 412',
    schema: { type: 'string', examples: ['"12"'] },
  },
  'If-None-Match': {
    description: 'ETag of the order: 304 if it is still at that revision',
    schema: { type: 'string', examples: ['"12"'] },
  },
  'Last-Event-ID': {
    description: 'The last id that was seen: the stream goes on after it',
    schema: { type: 'string', pattern: '^[0-9]{1,18}$' },
  },
};

export const responseHeaders: Readonly<Record<string, string>> = {
  ETag: "The order's revision in quotes",
  Location: 'Where the command is',
  'Retry-After': 'Seconds',
  'Idempotent-Replayed': '`true`: the key was known; nothing is sent twice for it',
  'Preference-Applied': '`wait=N` as it was applied',
  RateLimit: 'What the account may still send, and the seconds until all of it is back',
  'RateLimit-Policy': 'What the account may send at once',
};
