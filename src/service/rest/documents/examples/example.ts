import type { z } from 'zod';

/**
 * A body as the documents show it. The compiler holds the value against its shape's type, and a
 * test parses it (test/service/rest/examples.test.ts), so no example can be wrong.
 */
export interface Example {
  readonly shape: z.ZodType;
  /** Names it beside others for one body: `applied`, `refused`. */
  readonly name: string;
  readonly value: unknown;
  /** Only for this operation, and there instead of those for any. */
  readonly operationId?: string;
  /** Only for answers with this status, likewise. */
  readonly status?: number;
}

export function example<S extends z.ZodType>(
  shape: S,
  name: string,
  value: z.input<S>,
  only: Pick<Example, 'operationId' | 'status'> = {},
): Example {
  return { shape, name, value, ...only };
}
