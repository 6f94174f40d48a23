import * as oauth from 'oauth4webapi';
import { z } from 'zod';
import type { Clock } from '../../runtime/clock.ts';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { Secret } from '../../runtime/secret.ts';
import type { Token } from '../../runtime/token-store.ts';
import type { Http, HttpResult } from '../http.ts';
import { noAnswer, type PlatformError, retryAfterMsOf } from '../platform-error.ts';
import type { Fields } from '../row-reader.ts';
import { tokenPath } from './wire/oauth.ts';
import { neededText, optionalField, optionalText } from './wire/optional-field.ts';

/**
 * The client that signs in. Without `clientSecret` it is a public client without its own
 * credentials: a user signs in, and it refreshes.
 */
export interface Credential {
  readonly clientId: string;
  readonly clientSecret?: Secret;
  /** Space separated; left out: all the client has. */
  readonly scope?: string;
}

export type Grant =
  | { readonly kind: 'client_credentials' }
  | { readonly kind: 'refresh'; readonly refreshToken: Secret }
  /** From `readCallback`, which has checked the state. */
  | {
      readonly kind: 'authorization_code';
      readonly callback: URLSearchParams;
      readonly redirectUri: string;
      readonly verifier: Secret;
    };

export type ExchangeResult =
  | { readonly ok: true; readonly token: Token }
  /**
   * `refused`: the platform said no, and will again until a person does something. Otherwise
   * nothing is known, and trying again is right.
   */
  | { readonly ok: false; readonly refused: boolean; readonly error: PlatformError };

/**
 * If an answer leaves the lifetime out. The specification says "typically 3600"; our assumption
 * must not be longer than the true lifetime.
 */
const assumedLifetimeSeconds = 300;

/**
 * One call to the token endpoint (specification, "POST /v1/oauth2/token"; RFC 6749, sections 4.1,
 * 4.4 and 6). The secret goes into the body, as the specification shows it. One attempt: a lost
 * answer may rotate a refresh token, so the caller decides about another.
 */
export async function exchangeToken(
  deps: { http: Http; clock: Clock },
  baseUrl: string,
  credential: Credential,
  grant: Grant,
  signal?: AbortSignal,
): Promise<ExchangeResult> {
  const server: oauth.AuthorizationServer = { issuer: baseUrl, token_endpoint: `${baseUrl}${tokenPath}` };
  const client: oauth.Client = { client_id: credential.clientId };
  let lost: Extract<HttpResult, { kind: 'failed' }> | undefined;
  let answered: Answered | undefined;
  const options = {
    // Outside loopback the configuration refuses plain http in production, and `serve` and `doctor`
    // warn about it elsewhere. Here it would refuse every sandbox.
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: async (url: string, init: oauth.CustomFetchOptions<'POST', URLSearchParams>) => {
      const result = await deps.http.request({
        operation: 'token',
        method: 'POST',
        url,
        headers: init.headers,
        body: init.body.toString(),
        ...(signal && { signal }),
      });
      if (result.kind === 'answered') {
        answered = { url, status: result.status, retryAfterMs: retryAfterMsOf(result) };
        return toResponse(result);
      }
      lost = result;
      throw new Error(result.message);
    },
  };
  try {
    const startedMs = deps.clock.nowMs();
    const answer = await ask({ server, client, options }, credential, grant);
    return { ok: true, token: tokenFrom(answer, startedMs) };
  } catch (error) {
    const failed = failure(error, lost, answered);
    const { retryAfterMs = 0 } = answered ?? {};
    return retryAfterMs === 0 ? failed : { ...failed, error: { ...failed.error, retryAfterMs } };
  }
}

interface Answered {
  readonly url: string;
  readonly status: number;
  readonly retryAfterMs: number;
}

interface Endpoint {
  readonly server: oauth.AuthorizationServer;
  readonly client: oauth.Client;
  readonly options: oauth.TokenEndpointRequestOptions;
}

/** The grant's own request and the checks on its own answer. */
async function ask(
  { server, client, options }: Endpoint,
  credential: Credential,
  grant: Grant,
): Promise<oauth.TokenEndpointResponse> {
  const authentication = credential.clientSecret
    ? oauth.ClientSecretPost(credential.clientSecret.reveal())
    : oauth.None();
  switch (grant.kind) {
    case 'refresh': {
      const token = grant.refreshToken.reveal();
      const response = await oauth.refreshTokenGrantRequest(server, client, authentication, token, options);
      return oauth.processRefreshTokenResponse(server, client, response);
    }
    case 'authorization_code': {
      const { callback, redirectUri, verifier } = grant;
      const code = [callback, redirectUri, verifier.reveal()] as const;
      const response = await oauth.authorizationCodeGrantRequest(server, client, authentication, ...code, options);
      return oauth.processAuthorizationCodeResponse(server, client, response);
    }
    case 'client_credentials': {
      const parameters = credential.scope === undefined ? {} : { scope: credential.scope };
      const response = await oauth.clientCredentialsGrantRequest(server, client, authentication, parameters, options);
      return oauth.processClientCredentialsResponse(server, client, response);
    }
  }
}

function tokenFrom(answer: oauth.TokenEndpointResponse, startedMs: number): Token {
  return {
    accessToken: new Secret(answer.access_token),
    // Counted from when we asked, not from when the answer came: too early is harmless.
    expiresAtMs: startedMs + (answer.expires_in ?? assumedLifetimeSeconds) * 1000,
    ...(answer.refresh_token !== undefined && { refreshToken: new Secret(answer.refresh_token) }),
    ...(answer.scope !== undefined && { scope: answer.scope }),
  };
}

function toResponse(result: Extract<HttpResult, { kind: 'answered' }>): Response {
  // Statuses that may not have a body would make the constructor throw.
  const bodyless = result.status < 200 || result.status === 204 || result.status === 205 || result.status === 304;
  const status = Math.max(200, result.status);
  const read = tokenAnswer(result.text);
  if (bodyless || read === undefined)
    return new Response(bodyless ? null : result.text, { status, headers: result.headers });
  return new Response(JSON.stringify(read), {
    status,
    headers: { ...result.headers, 'content-type': 'application/json' },
  });
}

/** RFC 6749, section 5.2: these stay true until a person does something. */
const refusals = new Set([
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]);

/**
 * For people, who do not read RFC 6749. The standard's word stays beside it, since the platform's
 * support asks for it.
 */
const refusalWords: Readonly<Record<string, string>> = {
  invalid_client: 'the platform does not know the client id, or its secret is another one',
  invalid_grant: 'the platform does not take this login any more: it was revoked, has ended or was used twice',
  unauthorized_client: 'the platform does not allow this client to sign in like this',
  unsupported_grant_type: 'the platform does not have this way to sign in',
  invalid_scope: 'the platform does not give this client a scope that it asks for',
};

function failure(
  error: unknown,
  lost: Extract<HttpResult, { kind: 'failed' }> | undefined,
  answered: Answered | undefined,
): Extract<ExchangeResult, { readonly ok: false }> {
  if (lost !== undefined) return { ok: false, refused: false, error: noAnswer(lost) };
  if (error instanceof oauth.ResponseBodyError) {
    const refused = refusals.has(error.error);
    const said = `${error.error}${error.error_description === undefined ? '' : `: ${error.error_description}`}`;
    const words = refusalWords[error.error];
    const message = (words === undefined ? said : `${words} (${said})`).slice(0, 500);
    return answeredFailure(refused, { status: error.status, code: error.error.slice(0, 100), message });
  }
  // A WWW-Authenticate challenge instead of a body.
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    const { status } = error;
    const message = 'the token endpoint asks for other credentials';
    return answeredFailure(status === 401, { status, code: 'invalid_client', message });
  }
  // The library's own words speak of a Token Endpoint that does not conform. Only the address and
  // the status show that it is another server.
  const message =
    answered === undefined || !(error instanceof oauth.OperationProcessingError)
      ? messageOf(error)
      : `${answered.url} answers ${answered.status}, and not as a token endpoint does${answered.status === 200 ? `: ${messageOf(error)}` : ''}`;
  return answeredFailure(false, { code: 'BAD_ANSWER', message });
}

function answeredFailure(refused: boolean, error: Pick<PlatformError, 'status' | 'code' | 'message'>) {
  return { ok: false, refused, error: { ...error, retryable: !refused, sent: 'yes' } } as const;
}

/** oauth4webapi's messages name an answer's fault, never its content. */
function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 500) : 'the token endpoint answered something else';
}

/** Ten years. What lasts longer may end at a time that the database cannot store. */
const longestSeconds = 315_360_000;

const answer = z.object({
  access_token: optionalField(z.string()),
  token_type: optionalField(z.string()),
  // A text with seconds counts. A lifetime that is none is left out, and assumed. Below a second it
  // is none: the streams would be opened anew ten times a second.
  expires_in: optionalField(
    z.coerce
      .number()
      .min(1)
      .finite()
      .transform((seconds) => Math.min(seconds, longestSeconds)),
  ),
  refresh_token: optionalText,
  scope: optionalText,
  error: optionalField(neededText),
  error_description: optionalText,
});

/**
 * A token endpoint's answer with only the parts we need, for a reader that follows RFC 6749 to the
 * letter: nothing else in it decides. Undefined: no JSON object.
 *
 * A token without a type is `Bearer`, the only one we can send. A token that says it is another
 * must not be used (RFC 6749, section 7.1). A server may add an id token; checking it is not our
 * task.
 */
function tokenAnswer(text: string): Fields | undefined {
  const read = answer.safeParse(jsonOrUndefined(text)).data;
  if (read === undefined) return undefined;
  return read.access_token === undefined ? read : { ...read, token_type: read.token_type ?? 'bearer' };
}
