import type { AccessTokens } from './access-tokens.ts';
import type { AuthorizationCodes } from './authorization-codes.ts';
import type { Directory, Principal, SandboxClient } from './directory.ts';
import { equalSecrets, type Login } from './opaque-token.ts';
import type { RefreshTokens } from './refresh-tokens.ts';
import { readTokenRequest, refuse, type TokenParameters, type TokenRefusal } from './token-request.ts';

/** Specification, "Token response". */
interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in: number;
  readonly refresh_token?: string;
  readonly scope: string;
}

interface TokenRequest {
  readonly contentType: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

interface GrantDeps {
  readonly directory: Directory;
  readonly tokens: AccessTokens;
  readonly codes: AuthorizationCodes;
  readonly refreshTokens: RefreshTokens;
}

type Granted = { answer: TokenAnswer; principal: Principal } | { refusal: TokenRefusal };
type Grant = (deps: GrantDeps, client: SandboxClient, parameters: TokenParameters) => Promise<Granted>;

/** By `grant_type`. The specification's sign-in examples send `code` for `authorization_code`. */
const grants: Readonly<Record<string, Grant>> = {
  client_credentials: grantClientCredentials,
  authorization_code: grantCode,
  code: grantCode,
  refresh_token: grantRefresh,
};

/**
 * The token endpoint: client, grant and answer (specification, "POST /v1/oauth2/token"; RFC 6749).
 */
export async function grantToken(deps: GrantDeps, request: TokenRequest): Promise<Granted> {
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
  deps: GrantDeps,
  client: SandboxClient,
  parameters: TokenParameters,
): Promise<Granted> {
  if (client.clientSecret === undefined)
    return refuse(400, 'unauthorized_client', 'A public client has no credentials of its own');
  const scopes = askedScopes(new Set(client.scopes), parameters.get('scope'));
  if (scopes === undefined) return refuse(400, 'invalid_scope', 'A scope that this client does not have');
  return issue(deps, { clientId: client.clientId, scopes });
}

async function grantCode(deps: GrantDeps, client: SandboxClient, parameters: TokenParameters): Promise<Granted> {
  const code = parameters.get('code');
  if (code === undefined) return refuse(400, 'invalid_request', 'code is missing');
  const redeemed = deps.codes.redeem(code, {
    clientId: client.clientId,
    redirectUri: parameters.get('redirect_uri'),
    codeVerifier: parameters.get('code_verifier'),
  });
  if ('refusal' in redeemed) return redeemed;
  return issue(deps, redeemed.login, deps.refreshTokens.issue(redeemed.login));
}

async function grantRefresh(deps: GrantDeps, client: SandboxClient, parameters: TokenParameters): Promise<Granted> {
  const presented = parameters.get('refresh_token');
  if (presented === undefined) return refuse(400, 'invalid_request', 'refresh_token is missing');
  const login = deps.refreshTokens.peek(presented, client.clientId);
  if (login === undefined) return refuse(400, 'invalid_grant', 'The refresh token is unknown');
  // Narrower for this access token only; the next refresh may ask
  // for all again (RFC 6749, section 6).
  const scopes = askedScopes(login.scopes, parameters.get('scope'));
  if (scopes === undefined) return refuse(400, 'invalid_scope', 'A scope that the user did not grant');
  const result = deps.refreshTokens.redeem(presented, client.clientId);
  if (result.kind === 'refused') return refuse(400, 'invalid_grant', result.reason);
  return issue(deps, { ...result.login, scopes }, result.refreshToken);
}

async function issue(
  { tokens, refreshTokens }: GrantDeps,
  subject: Pick<Principal, 'clientId' | 'username' | 'scopes' | 'loginId'> | Login,
  refreshToken?: string,
): Promise<Granted> {
  const { token, principal, expiresIn } = await tokens.issue(subject);
  // Signing takes a turn or two, and a second use may have ended the login meanwhile: this token
  // was not there yet to be revoked.
  if (principal.loginId !== undefined && refreshTokens.ended(principal.loginId)) {
    tokens.revoke(({ tokenId }) => tokenId === principal.tokenId);
    return refuse(400, 'invalid_grant', 'The login was revoked');
  }
  const answer: TokenAnswer = {
    access_token: token,
    token_type: 'Bearer',
    expires_in: expiresIn,
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    scope: [...subject.scopes].join(' '),
  };
  return { answer, principal };
}

/**
 * The requested scopes, or all in `had` without a request (blanks are nothing); undefined when one
 * is not there.
 */
function askedScopes(had: ReadonlySet<string>, asked: string | undefined): ReadonlySet<string> | undefined {
  const scopes = new Set((asked ?? '').split(' ').filter((scope) => scope !== ''));
  if (scopes.size === 0) return had;
  return [...scopes].every((scope) => had.has(scope)) ? scopes : undefined;
}

/**
 * The client behind a token request: HTTP Basic or `client_id` and `client_secret` in the body,
 * never both (RFC 6749, section 2.3). A public client names itself without a secret.
 */
function authenticateClient(
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
  const expected = client?.clientSecret?.reveal();
  const isRight = expected === undefined || secret === undefined ? expected === secret : equalSecrets(expected, secret);
  if (client === undefined || !isRight) return refuse(401, 'invalid_client', 'Unknown client or wrong secret');
  return { client };
}

/** `client_id` and `client_secret` are form-encoded inside the base64 (RFC 6749, section 2.3.1). */
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
