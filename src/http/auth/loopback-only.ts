/** Nobody would have to sign in, and the port could be reached from elsewhere. */
export class AuthRequiredError extends Error {
  readonly code = 'AUTH_REQUIRED';
  readonly retryable = false;

  constructor(host: string) {
    super(
      `REST does not listen on ${host} without sign-in: accept tokens of the database, configure static tokens or an issuer of JWTs (issuer, audience, JWKS URL), or listen on 127.0.0.1`,
    );
    this.name = 'AuthRequiredError';
  }
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i;
const withPort = /^(.*?)(?::\d{1,5})?$/;

/** Whether `host` is an address of this machine that no other reaches. */
export function isLoopbackHost(host: string): boolean {
  return loopback.test(host);
}

/**
 * Whether the `Host` header names this machine. Without sign-in that is what keeps web pages out: a page whose own name was made to resolve to 127.0.0.1
 * (DNS rebinding) is of the same origin as we are to the browser, and its requests carry its name.
 */
export function namesLoopback(hostHeader: string | undefined): boolean {
  return isLoopbackHost(withPort.exec(hostHeader ?? '')?.[1] ?? '');
}
