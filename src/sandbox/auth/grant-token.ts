import type { AccessTokens } from './access-tokens.ts';
import { authenticateClient } from './authenticate-client.ts';
import type { Directory, Principal, SandboxClient } from './directory.ts';
import { readTokenRequest, refuse, type TokenParameters, type TokenRefusal } from './token-request.ts';

/** Specification, "Token response". */
export interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in: number;
  readonly scope: string;
}

export interface TokenRequest {
  readonly contentType: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

type Grant = (
  deps: { tokens: AccessTokens },
  client: SandboxClient,
  parameters: TokenParameters,
) => Promise<{ answer: TokenAnswer; principal: Principal } | { refusal: TokenRefusal }>;

/** By `grant_type`. */
const grants: Readonly<Record<string, Grant>> = { client_credentials: grantClientCredentials };

/** The token endpoint: who asks, by which grant, and what they get (specification, "POST /v1/oauth2/token"; RFC 6749). */
export async function grantToken(
  deps: { directory: Directory; tokens: AccessTokens },
  request: TokenRequest,
): Promise<{ answer: TokenAnswer; principal: Principal } | { refusal: TokenRefusal }> {
  const read = readTokenRequest(request.contentType, request.body);
  if ('refusal' in read) return read;
  const authenticated = authenticateClient(deps.directory, request.authorization, read.parameters);
  if ('refusal' in authenticated) return authenticated;
  const grantType = read.parameters.get('grant_type');
  if (grantType === undefined) return refuse(400, 'invalid_request', 'grant_type is missing');
  const grant = Object.hasOwn(grants, grantType) ? grants[grantType] : undefined;
  if (grant === undefined) return refuse(400, 'unsupported_grant_type', `No grant ${grantType.slice(0, 40)}`);
  return grant(deps, authenticated.client, read.parameters);
}

async function grantClientCredentials(
  deps: { tokens: AccessTokens },
  client: SandboxClient,
  parameters: TokenParameters,
): Promise<{ answer: TokenAnswer; principal: Principal } | { refusal: TokenRefusal }> {
  if (client.clientSecret === undefined)
    return refuse(400, 'unauthorized_client', 'A public client has no credentials of its own');
  const scopes = grantedScopes(client, parameters.get('scope'));
  if (scopes === undefined) return refuse(400, 'invalid_scope', 'A scope that this client does not have');
  const { token, principal, expiresIn } = await deps.tokens.issue({ clientId: client.clientId, scopes });
  const answer: TokenAnswer = {
    access_token: token,
    token_type: 'Bearer',
    expires_in: expiresIn,
    scope: [...scopes].join(' '),
  };
  return { answer, principal };
}

/** What was asked for, all of the client's when nothing was; undefined when one of them is not the client's. */
function grantedScopes(client: SandboxClient, asked: string | undefined): ReadonlySet<string> | undefined {
  if (asked === undefined) return new Set(client.scopes);
  const scopes = new Set(asked.split(' ').filter((scope) => scope !== ''));
  return [...scopes].every((scope) => client.scopes.includes(scope)) ? scopes : undefined;
}
