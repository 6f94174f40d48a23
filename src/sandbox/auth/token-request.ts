import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { isObject } from '../entry/request-members.ts';
import { mediaTypeOf } from '../rest/read-request.ts';

/** The token endpoint's fields, from a form or from JSON: names to values, each once. */
export type TokenParameters = ReadonlyMap<string, string>;

/** An RFC 6749 error (section 5.2), and also the platform's flat error body. */
export interface TokenRefusal {
  readonly status: 400 | 401;
  readonly error:
    | 'invalid_request'
    | 'invalid_client'
    | 'invalid_grant'
    | 'unauthorized_client'
    | 'unsupported_grant_type'
    | 'invalid_scope';
  readonly description: string;
}

export function refuse(
  status: 400 | 401,
  error: TokenRefusal['error'],
  description: string,
): { refusal: TokenRefusal } {
  return { refusal: { status, error, description } };
}

type ReadRequest = { parameters: TokenParameters } | { refusal: TokenRefusal };

/**
 * Reads a body in either form. A parameter that comes twice is refused, as section 3.2 asks; one
 * without a value counts as absent.
 */
export function readTokenRequest(contentType: string, body: string): ReadRequest {
  const mediaType = mediaTypeOf(contentType);
  if (mediaType === 'application/x-www-form-urlencoded') return readForm(body);
  if (mediaType === 'application/json') return readJson(body);
  return refuse(400, 'invalid_request', 'The body must be a form or JSON');
}

function readForm(body: string): ReadRequest {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(body)) {
    if (parameters.has(name)) return refuse(400, 'invalid_request', `${name} is given twice`);
    if (value !== '') parameters.set(name, value);
  }
  return { parameters };
}

function readJson(body: string): ReadRequest {
  const parsed = jsonOrUndefined(body);
  if (parsed === undefined) return refuse(400, 'invalid_request', 'The body is not JSON');
  if (!isObject(parsed)) return refuse(400, 'invalid_request', 'The body must be an object');
  const parameters = new Map<string, string>();
  for (const [name, value] of Object.entries(parsed)) {
    if (typeof value !== 'string') return refuse(400, 'invalid_request', `${name} must be a string`);
    if (value !== '') parameters.set(name, value);
  }
  return { parameters };
}
