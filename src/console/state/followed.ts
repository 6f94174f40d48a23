import { type Failure, sentenceOf } from './rest.ts';

/** One thing of the service on its page. `stale`: why a newer answer could not be read. */
export type Followed<Shown> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'failed'; readonly why: string }
  | (Shown & { readonly kind: 'shown'; readonly stale?: string });

/** The last good answer stays, unless the thing is gone. */
export function withFailure<Shown>(state: Followed<Shown>, answer: Failure): Followed<Shown> {
  if (answer.kind === 'problem' && answer.status === 404) return { kind: 'missing' };
  const why = sentenceOf(answer);
  return state.kind === 'shown' ? { ...state, stale: why } : { kind: 'failed', why };
}
