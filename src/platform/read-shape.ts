import type { z } from 'zod';
import type { PlatformError } from './platform-error.ts';
import { type ReadDeps, type ReadSpecials, readPlatform } from './read-platform.ts';

export type Fetched<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: PlatformError };

/** The parts of one read. `query` leaves out undefined values. */
export interface ShapedRead<Shape extends z.ZodType> extends ReadSpecials {
  /** A metric label. */
  readonly operation: string;
  /** Base address and path. */
  readonly url: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly shape: Shape;
}

/** A read whose answer has to have a shape. `BAD_ANSWER` when it has another; never rejects. */
export async function readShape<Shape extends z.ZodType>(
  deps: ReadDeps,
  read: ShapedRead<Shape>,
  signal: AbortSignal,
): Promise<Fetched<z.output<Shape>>> {
  const answer = await readPlatform(deps, read.operation, addressOf(read), signal, read);
  if (!answer.ok) return answer;
  const body = read.shape.safeParse(answer.value);
  if (body.success) return { ok: true, value: body.data };
  const [issue] = body.error.issues;
  return badAnswer(`the answer to ${read.operation} has another shape: ${issue?.path.join('.')}: ${issue?.message}`);
}

/** An answer that says of itself that it is none: `status` or `s` is another word than success (specification, "Options quote response"). */
export function unsuccessful(operation: string, word: string): { readonly ok: false; readonly error: PlatformError } {
  return badAnswer(`the answer to ${operation} has the status ${word}`);
}

function badAnswer(message: string): { readonly ok: false; readonly error: PlatformError } {
  return { ok: false, error: { status: 200, code: 'BAD_ANSWER', message: message.slice(0, 500), retryable: true, sent: 'yes' } };
}

function addressOf({ url, query = {} }: ShapedRead<z.ZodType>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  return given.size === 0 ? url : `${url}?${given}`;
}
