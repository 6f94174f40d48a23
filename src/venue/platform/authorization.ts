import * as oauth from 'oauth4webapi';
import { Secret } from '../../runtime/secret.ts';
import type { PlatformError } from '../platform-error.ts';
import type { Grant } from './exchange-token.ts';
import { authorizeScreenPath } from './wire/oauth.ts';

interface AuthorizationOptions {
  /** The sign-in screen's base address. */
  readonly authUrl: string;
  /** The token endpoint's base address; an `iss` in the answer must be this. */
  readonly platformUrl: string;
  readonly clientId: string;
  /** As registered, character by character. */
  readonly redirectUri: string;
  /** Space separated; left out: all the client has. */
  readonly scope?: string;
}

/** One sign-in just begun. `state` and `verifier` are made for it alone and are used once. */
interface Authorization {
  /** The user goes to this address. */
  readonly url: string;
  readonly redirectUri: string;
  readonly state: Secret;
  readonly verifier: Secret;
}

/**
 * Begins the authorization code flow with PKCE (specification, "Authentication" 5 and 6; RFC 9700,
 * section 2.1.1), with or without a client secret.
 */
export async function beginAuthorization(options: AuthorizationOptions): Promise<Authorization> {
  const state = oauth.generateRandomState();
  const verifier = oauth.generateRandomCodeVerifier();
  const parameters = new URLSearchParams({
    response_type: 'code',
    client_id: options.clientId,
    redirect_uri: options.redirectUri,
    ...(options.scope !== undefined && { scope: options.scope }),
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  return {
    url: `${options.authUrl}${authorizeScreenPath}?${parameters}`,
    redirectUri: options.redirectUri,
    state: new Secret(state),
    verifier: new Secret(verifier),
  };
}

type CallbackResult =
  | { readonly ok: true; readonly grant: Grant }
  /**
   * Code `STATE_MISMATCH`: the answer belongs to another sign-in, and nothing is done with its
   * code. Otherwise the platform's own (`access_denied` …).
   */
  | { readonly ok: false; readonly error: PlatformError };

/** The redirect's answer, checked: `state` is ours, and there is one code. */
export function readCallback(
  options: Pick<AuthorizationOptions, 'platformUrl' | 'clientId'>,
  authorization: Authorization,
  callback: URLSearchParams,
): CallbackResult {
  const server: oauth.AuthorizationServer = { issuer: options.platformUrl };
  // "On denial error parameters are returned instead" of code and state: nothing is redeemed.
  const denial = callback.get('error');
  if (denial !== null && !callback.has('state') && !callback.has('code'))
    return refused(denial.slice(0, 100), (callback.get('error_description') ?? denial).slice(0, 500));
  // Before anything else in it is believed, an error too (specification, "Authentication" 5).
  if (callback.get('state') !== authorization.state.reveal() || callback.getAll('state').length !== 1)
    return refused(
      'STATE_MISMATCH',
      'the answer carries another state than the one that was sent: it belongs to another sign-in',
    );
  try {
    const checked = oauth.validateAuthResponse(
      server,
      { client_id: options.clientId },
      callback,
      authorization.state.reveal(),
    );
    // oauth4webapi looks for the code only when it is exchanged, and throws.
    if (checked.getAll('code').length !== 1) return badAnswer;
    const { redirectUri, verifier } = authorization;
    return { ok: true, grant: { kind: 'authorization_code', callback: checked, redirectUri, verifier } };
  } catch (error) {
    if (!(error instanceof oauth.AuthorizationResponseError)) return badAnswer;
    const description = error.error_description === undefined ? '' : `: ${error.error_description}`;
    return refused(error.error.slice(0, 100), `${error.error}${description}`.slice(0, 500));
  }
}

const badAnswer = refused('BAD_ANSWER', 'the answer has no code, more than one, or comes from another server');

function refused(code: string, message: string): CallbackResult {
  return { ok: false, error: { code, message, retryable: false, sent: 'yes' } };
}
