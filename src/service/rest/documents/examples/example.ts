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

/** What the examples tell of: one order of one account, and the command that placed it. */
export const accountId = 'SIM-1001';
export const orderId = '5450dc1c-6f0e-4f5c-9b0a-2f1f6a3f9d11';
export const commandId = 'c8615a5c-8335-4ac6-8d1c-6f1167573422';
export const attemptId = 'tm-35c5371f-8f0a-4c6e-a1c4-5d2e6f70a801';

export function example<S extends z.ZodType>(
  shape: S,
  name: string,
  value: z.input<S>,
  only: Pick<Example, 'operationId' | 'status'> = {},
): Example {
  return { shape, name, value, ...only };
}
