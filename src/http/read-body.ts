import type { FastifyRequest } from 'fastify';
import { parseJsonBody } from './json-body.ts';

export type ReadBodyResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly status: 400 | 415; readonly code: string; readonly detail: string };

/**
 * The bytes of a body as its route takes them. Clients write a content type on every request, so on one without a byte it says nothing. A body that the route does not
 * take is refused: whoever put terms into it would believe that they were read.
 */
export function readBody(request: FastifyRequest, takesBody: boolean): ReadBodyResult {
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  if (!takesBody) {
    if (bytes.length === 0) return { ok: true, value: undefined };
    return refused(400, 'UNEXPECTED_BODY', 'this route takes no body: what it needs stands in its path, parameters and headers');
  }
  if (bytes.length > 0 && request.mediaType !== 'application/json')
    return refused(415, 'MEDIA_TYPE', 'the request has a body of a type that is not read here');
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8') return refused(415, 'MEDIA_TYPE', 'JSON is read in UTF-8 only');
  const parsed = parseJsonBody(bytes);
  return parsed.ok ? parsed : refused(400, parsed.code, parsed.detail);
}

function refused(status: 400 | 415, code: string, detail: string): ReadBodyResult {
  return { ok: false, status, code, detail };
}
