import type { Directory, SandboxClient } from './directory.ts';

/**
 * An authorization request that may be shown to a user (specification, "GET
 * {auth_url}/oauth2/authorize").
 */
export interface AuthorizationRequest {
  readonly client: SandboxClient;
  /** One of the client's own, character by character. */
  readonly redirectUri: string;
  readonly scopes: ReadonlySet<string>;
  readonly state?: string | undefined;
  /** BASE64URL(SHA256(verifier)), if the client uses PKCE. */
  readonly codeChallenge?: string | undefined;
}

/** The error that the client gets by redirect (RFC 6749, section 4.1.2.1). */
export interface RedirectedError {
  readonly redirectUri: string;
  readonly state?: string | undefined;
  readonly error: 'invalid_request' | 'unsupported_response_type' | 'invalid_scope' | 'access_denied';
  readonly description: string;
}

export type ReadAuthorization =
  | { readonly kind: 'request'; readonly request: AuthorizationRequest }
  /**
   * The client or the redirect address is not known: the user sees the error, and no redirect
   * follows.
   */
  | { readonly kind: 'untrusted'; readonly description: string }
  | { readonly kind: 'refused'; readonly refusal: RedirectedError };

/**
 * Reads an authorization request's parameters. The redirect URI is compared as text (specification,
 * "Authentication" 4; RFC 9700, section 4.1.3). It comes before anything else, so that no other
 * fault can send a user to an unregistered address. A public client must use PKCE, with S256 only.
 */
export function readAuthorizationRequest(directory: Directory, entries: Iterable<[string, string]>): ReadAuthorization {
  const { values, repeated } = gather(entries);
  const clientId = values.get('client_id');
  const client = clientId === undefined || repeated.has('client_id') ? undefined : directory.clients.get(clientId);
  if (client === undefined) return { kind: 'untrusted', description: 'client_id names no registered app' };
  const redirectUri = values.get('redirect_uri');
  if (redirectUri === undefined || repeated.has('redirect_uri') || !client.redirectUris.includes(redirectUri))
    return { kind: 'untrusted', description: 'redirect_uri is not registered for this app, exactly as it was sent' };
  const state = repeated.has('state') ? undefined : values.get('state');
  const returned = { redirectUri, state };
  const fault = findFault(client, values, repeated);
  if (fault !== undefined) return { kind: 'refused', refusal: { ...returned, ...fault } };
  const codeChallenge = values.get('code_challenge');
  const scopes = askedScopes(client, values.get('scope'));
  return { kind: 'request', request: { client, scopes, ...returned, codeChallenge } };
}

type Fault = Pick<RedirectedError, 'error' | 'description'>;

function findFault(
  client: SandboxClient,
  values: ReadonlyMap<string, string>,
  repeated: ReadonlySet<string>,
): Fault | undefined {
  const [twice] = repeated;
  if (twice !== undefined) return invalid(`${twice.slice(0, 40)} is given twice`);
  const responseType = values.get('response_type');
  if (responseType === undefined) return invalid('response_type is missing');
  if (responseType !== 'code') return { error: 'unsupported_response_type', description: 'Only response_type code' };
  if ([...askedScopes(client, values.get('scope'))].some((scope) => !client.scopes.includes(scope)))
    return { error: 'invalid_scope', description: 'A scope that this app does not have' };
  return pkceFault(client, values.get('code_challenge'), values.get('code_challenge_method'));
}

/**
 * Without a method RFC 7636 means `plain`, and this shows the verifier to all who see the request.
 */
function pkceFault(
  client: SandboxClient,
  challenge: string | undefined,
  method: string | undefined,
): Fault | undefined {
  if (challenge === undefined) {
    if (method !== undefined) return invalid('code_challenge_method without code_challenge');
    return client.clientSecret === undefined ? invalid('A public client must send a code_challenge') : undefined;
  }
  if (method !== 'S256') return invalid('code_challenge_method must be S256');
  return /^[A-Za-z0-9_-]{43}$/.test(challenge)
    ? undefined
    : invalid('code_challenge must be the base64url of a SHA-256');
}

function invalid(description: string): Fault {
  return { error: 'invalid_request', description };
}

/** All scopes the client has when none is named. */
function askedScopes(client: SandboxClient, text: string | undefined): ReadonlySet<string> {
  const named = (text ?? '').split(' ').filter((scope) => scope !== '');
  return new Set(named.length === 0 ? client.scopes : named);
}

/** A parameter without a value counts as left out (RFC 6749, section 3.1). */
function gather(entries: Iterable<[string, string]>) {
  const values = new Map<string, string>();
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const [name, value] of entries) {
    if (seen.has(name)) repeated.add(name);
    seen.add(name);
    if (value !== '' && !values.has(name)) values.set(name, value);
  }
  return { values, repeated };
}
