import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { Secret } from '../../runtime/secret.ts';
import type { Http } from '../http.ts';
import { parseJson } from '../parse-json.ts';
import type { PlatformError } from '../platform-error.ts';
import type { Authorization } from './authorization.ts';
import { errorFromAnswer } from './error-from-answer.ts';
import { type CodeGiven, codeGiven, confirmPath, mfaAnswer, mfaPath, signInAnswer, signInPath } from './wire/oauth.ts';

interface SignInDeps {
  readonly http: Http;
}

/** A sign-in step's result. A step is one write: it is never repeated by itself. */
export type SignInStep =
  /** Over: read it with `readCallback`, as a redirect would have brought it. */
  | { readonly kind: 'callback'; readonly callback: URLSearchParams }
  | { readonly kind: 'mfa' | 'confirm'; readonly nextStepAuthId: Secret }
  | { readonly kind: 'failed'; readonly error: PlatformError };

/**
 * User name and password, for a program that is itself the sign-in screen
 * (docs/platform-assumptions.md, "OAuth2"). On the screen's address.
 */
export async function signIn(
  deps: SignInDeps,
  authUrl: string,
  authorization: Authorization,
  user: { readonly username: string; readonly password: Secret },
): Promise<SignInStep> {
  const body = { ...authorization.parameters, username: user.username, password: user.password.reveal() };
  const answer = await post(deps, `${authUrl}${signInPath}`, body);
  if ('error' in answer) return { kind: 'failed', error: answer.error };
  const shape = signInAnswer.safeParse(answer.value);
  if (!shape.success) return badAnswer;
  if ('code' in shape.data && typeof shape.data.code === 'string') return callbackOf(shape.data as CodeGiven);
  return { kind: 'mfa', nextStepAuthId: new Secret(String(shape.data['next_step_auth_id'])) };
}

/** The 6-digit code (specification, "POST /v1/oauth2/authorize/mfa"). */
export async function verifySignIn(
  deps: SignInDeps,
  platformUrl: string,
  nextStepAuthId: Secret,
  verificationCode: Secret,
): Promise<SignInStep> {
  const body = { next_step_auth_id: nextStepAuthId.reveal(), verification_code: verificationCode.reveal() };
  const answer = await post(deps, `${platformUrl}${mfaPath}`, body);
  if ('error' in answer) return { kind: 'failed', error: answer.error };
  const shape = mfaAnswer.safeParse(answer.value);
  // The answer's shape is our assumption: without an id in it, the one we have goes on.
  return { kind: 'confirm', nextStepAuthId: shape.success ? new Secret(shape.data.next_step_auth_id) : nextStepAuthId };
}

/** Gets the code after MFA (specification, "POST /v1/oauth2/authorize/confirm"). */
export async function confirmSignIn(
  deps: SignInDeps,
  platformUrl: string,
  nextStepAuthId: Secret,
): Promise<SignInStep> {
  const answer = await post(deps, `${platformUrl}${confirmPath}`, { next_step_auth_id: nextStepAuthId.reveal() });
  if ('error' in answer) return { kind: 'failed', error: answer.error };
  const shape = codeGiven.safeParse(answer.value);
  return shape.success ? callbackOf(shape.data) : badAnswer;
}

const badAnswer: SignInStep = {
  kind: 'failed',
  error: {
    code: 'BAD_ANSWER',
    message: 'the step answered with another shape than the contract says',
    retryable: false,
    sent: 'yes',
  },
};

function callbackOf({ code, state }: CodeGiven): SignInStep {
  return { kind: 'callback', callback: new URLSearchParams({ code, ...(state !== undefined && { state }) }) };
}

async function post(
  deps: SignInDeps,
  url: string,
  body: object,
): Promise<{ value: unknown } | { error: PlatformError }> {
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  const request = { operation: 'sign_in', method: 'POST', url, headers, body: JSON.stringify(body) } as const;
  const result = await deps.http.request(request);
  if (result.kind === 'failed')
    return { error: { code: 'NO_ANSWER', message: result.message, retryable: false, sent: result.sent } };
  const value = jsonOrUndefined(result.text, parseJson);
  return result.status === 200 ? { value } : { error: errorFromAnswer(result.status, value) };
}
