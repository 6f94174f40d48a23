/** The classes in oauth4webapi that say why a sign-in failed. */
type Faults = Pick<
  typeof import('oauth4webapi'),
  'AuthorizationResponseError' | 'ResponseBodyError' | 'OperationProcessingError' | 'WWWAuthenticateChallengeError'
>;

const ended = () => 'Your sign-in has ended. Sign in again.';

/** The errors in RFC 6749 and OpenID Connect that a reader can do something about. */
const sentences: Readonly<Record<string, (host: string) => string>> = {
  access_denied: (host) => `${host} did not allow the sign-in, or it was stopped there.`,
  login_required: ended,
  interaction_required: ended,
  consent_required: ended,
  account_selection_required: ended,
  invalid_grant: () => 'The sign-in took too long, or was used already. Sign in again.',
  invalid_client: (host) =>
    `${host} does not know this console as a client. The people who run the service can correct this.`,
  unauthorized_client: (host) =>
    `${host} does not allow this console to sign readers in. The people who run the service can correct this.`,
  invalid_scope: (host) =>
    `${host} does not know the rights that this console asks for. The people who run the service can correct this.`,
  temporarily_unavailable: (host) => `${host} is not available now. Try again soon.`,
  server_error: (host) => `${host} has a fault of its own. Try again soon.`,
};

/** Why a sign-in at `host` failed, for its reader. */
export function signInFault(library: Faults, error: unknown, host: string): string {
  if (error instanceof library.AuthorizationResponseError || error instanceof library.ResponseBodyError) {
    const known = sentences[error.error];
    if (known !== undefined) return known(host);
    return `${host} refused the sign-in: ${error.error_description ?? error.error}`.slice(0, 300);
  }
  if (error instanceof library.WWWAuthenticateChallengeError) return sentences['invalid_client']?.(host) ?? '';
  if (error instanceof library.OperationProcessingError) {
    if (/"(?:state|iss)"/.test(error.message))
      return 'This answer does not belong to a sign-in of this tab, so it was not used. Sign in again.';
    return `The answer of ${host} could not be used: ${error.message}`.slice(0, 300);
  }
  return `${host} does not answer, or does not allow this page to ask it.`;
}
