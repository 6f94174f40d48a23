import { createHash, timingSafeEqual } from 'node:crypto';
import type { Directory, SandboxClient } from './directory.ts';
import { refuse, type TokenParameters, type TokenRefusal } from './token-request.ts';

/**
 * The client behind a token request: HTTP Basic or `client_id` and `client_secret` in the body, never both (RFC 6749, section 2.3). A public client names
 * itself without a secret.
 */
export function authenticateClient(
  directory: Directory,
  authorization: string | undefined,
  parameters: TokenParameters,
): { client: SandboxClient } | { refusal: TokenRefusal } {
  const basic = authorization === undefined ? undefined : readBasic(authorization);
  if (authorization !== undefined && basic === undefined)
    return refuse(401, 'invalid_client', 'The Authorization header is not HTTP Basic');
  if (basic !== undefined && parameters.has('client_secret'))
    return refuse(400, 'invalid_request', 'Two ways of client authentication at once');
  const clientId = basic?.clientId ?? parameters.get('client_id');
  const secret = basic?.secret ?? parameters.get('client_secret');
  if (clientId === undefined) return refuse(401, 'invalid_client', 'client_id is missing');
  const named = parameters.get('client_id');
  if (named !== undefined && named !== clientId) return refuse(400, 'invalid_request', 'Two clients are named');
  const client = directory.clients.get(clientId);
  if (client === undefined || !matches(client.clientSecret?.reveal(), secret))
    return refuse(401, 'invalid_client', 'Unknown client or wrong secret');
  return { client };
}

/** `client_id` and `client_secret` are form-encoded inside of the base64 (RFC 6749, section 2.3.1). */
function readBasic(authorization: string): { clientId: string; secret: string } | undefined {
  const match = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(authorization);
  if (match === null) return undefined;
  const [id, ...rest] = Buffer.from(match[1] ?? '', 'base64')
    .toString('utf8')
    .split(':');
  if (id === undefined || rest.length === 0) return undefined;
  try {
    const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));
    return { clientId: decode(id), secret: decode(rest.join(':')) };
  } catch {
    return undefined;
  }
}

/** Equal texts, in a time that does not depend on where they differ. */
function matches(expected: string | undefined, given: string | undefined): boolean {
  if (expected === undefined || given === undefined) return expected === given;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(expected), digest(given));
}
