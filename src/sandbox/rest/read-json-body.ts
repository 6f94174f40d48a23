import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';

/** The JSON body of a request by its shape, or what is wrong with it: `INVALID_JSON`, `INVALID_BODY`. */
export function readJsonBody<Shape extends z.ZodType>(
  shape: Shape,
  request: FastifyRequest,
): { readonly value: z.output<Shape> } | { readonly code: 'INVALID_JSON' | 'INVALID_BODY'; readonly fault: string } {
  let parsed: unknown;
  try {
    const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return { code: 'INVALID_JSON', fault: 'The body is not JSON' };
  }
  const read = shape.safeParse(parsed);
  if (read.success) return { value: read.data };
  const [issue] = read.error.issues;
  return { code: 'INVALID_BODY', fault: `${issue?.path.join('.') || 'body'}: ${issue?.message}` };
}
