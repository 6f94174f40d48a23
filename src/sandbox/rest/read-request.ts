import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';

/**
 * A `content-type` header's media type in lower case, without its parameters; empty when there is
 * none.
 */
export function mediaTypeOf(contentType: string | undefined): string {
  return contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
}

/**
 * The address with a path that can be decoded. An id like `%zz` is taken as it stands, so that the
 * route answers: token first, then in its own shape that there is no such order, with a line in the
 * ledger. The router alone would answer 400 to everybody, in an undocumented shape.
 */
export function decodableUrl(url: string): string {
  const end = url.indexOf('?');
  const path = end < 0 ? url : url.slice(0, end);
  if (!path.includes('%') || isDecodable(path)) return url;
  return path.replaceAll('%', '%25') + url.slice(path.length);
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

const mediaType = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/;

/**
 * A `content-type` that is no media type counts as none, so that the route answers: token first,
 * then in its own shape. The framework alone would answer 415 to everybody, in an undocumented
 * shape.
 */
export function ignoreBrokenMediaTypes(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ raw: { headers } }) => {
    if (headers['content-type'] !== undefined && !mediaType.test(headers['content-type']))
      delete headers['content-type'];
  });
}

/** A request's JSON body by its shape, or its fault: `INVALID_JSON`, `INVALID_BODY`. */
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

/**
 * Reads a query string by its shape: texts become numbers and booleans if the shape wants them.
 * Answers with the fault instead, naming the parameter. Parameters unknown to the shape are
 * ignored, as web servers do.
 */
export function readQuery<Shape extends z.ZodObject>(
  shape: Shape,
  query: unknown,
): { readonly value: z.output<Shape> } | { readonly fault: string } {
  const given: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(query as Readonly<Record<string, unknown>>)) {
    const field = Object.hasOwn(shape.shape, name) ? shape.shape[name] : undefined;
    if (field === undefined) continue;
    if (typeof text !== 'string') return { fault: `${name} is given twice` };
    given[name] = fromText(kindOf(field), text);
  }
  const read = shape.safeParse(given);
  if (read.success) return { value: read.data };
  const [issue] = read.error.issues;
  return { fault: `${issue?.path.join('.')}: ${issue?.message}` };
}

/** The type inside `optional`. */
function kindOf(field: z.core.$ZodType): string {
  const { def } = field._zod;
  return def.type === 'optional' ? kindOf((def as z.core.$ZodOptionalDef).innerType) : def.type;
}

/** A text that doesn't fit stays a text. The shape then refuses it. */
function fromText(kind: string, text: string): unknown {
  if (kind === 'number') return /^-?(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : text;
  if (kind === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}
