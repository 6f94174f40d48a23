import { createHash } from 'node:crypto';
import type { Ambient } from '../../observability/ambient.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { equalSecrets, fingerprint, type Login, opaqueToken } from './opaque-token.ts';
import { refuse, type TokenRefusal } from './token-request.ts';

/** The token request's fields besides the code. */
interface CodeProof {
  readonly clientId: string;
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
}

interface CodesDeps extends Pick<Ambient, 'clock' | 'random'> {
  readonly onReused: (login: Login) => void;
}

interface Entry {
  readonly login: Login;
  readonly redirectUri: string;
  readonly codeChallenge: string | undefined;
  readonly endsAtMs: number;
  used: boolean;
}

const lifetimeMs = 60_000;
/** A used code is remembered this long, so that its second use is noticed. */
const rememberMs = 3_600_000;
const maxKept = 100_000;

/**
 * Authorization codes: 60 s, once.
 *
 * A code's states: issued → used, or expired. Invariant: a login is handed out for a code at most
 * once. If a code comes a second time, one of its two senders stole it. Then `onReused` is called
 * with the login, and everything that came from it ends (RFC 6749, section 4.1.2; RFC 9700, section
 * 4.5). A try that proves nothing (other client, other redirect URI, wrong verifier) does not use
 * the code up: else a stranger who saw a code could spoil its owner's login.
 */
export class AuthorizationCodes {
  private readonly entries = new Map<string, Entry>();
  private readonly deps: CodesDeps;

  constructor(deps: CodesDeps) {
    this.deps = deps;
  }

  issue(request: AuthorizationRequest, username: string): string {
    this.forgetOld();
    const { client, redirectUri, scopes, codeChallenge } = request;
    const login = { loginId: this.deps.random.uuid(), clientId: client.clientId, username, scopes };
    const code = opaqueToken();
    const endsAtMs = this.deps.clock.monotonicMs() + lifetimeMs;
    this.entries.set(fingerprint(code), { login, redirectUri, codeChallenge, endsAtMs, used: false });
    return code;
  }

  redeem(code: string, proof: CodeProof): { login: Login } | { refusal: TokenRefusal } {
    const entry = this.entries.get(fingerprint(code));
    if (entry === undefined || entry.login.clientId !== proof.clientId)
      return invalidGrant('The code is unknown or expired');
    if (entry.used) {
      this.deps.onReused(entry.login);
      return invalidGrant('The code was used before; what was issued for it is revoked');
    }
    if (this.deps.clock.monotonicMs() >= entry.endsAtMs) return invalidGrant('The code is unknown or expired');
    if (proof.redirectUri !== entry.redirectUri)
      return invalidGrant('redirect_uri is not the one of the authorization request');
    const fault = verifierFault(entry.codeChallenge, proof.codeVerifier);
    if (fault !== undefined) return invalidGrant(fault);
    entry.used = true;
    return { login: entry.login };
  }

  private forgetOld(): void {
    const before = this.deps.clock.monotonicMs() - rememberMs;
    for (const [key, entry] of this.entries) {
      // In the order they were issued: the first young one ends the look.
      if (entry.endsAtMs > before && this.entries.size < maxKept) return;
      this.entries.delete(key);
    }
  }
}

/**
 * A verifier without a challenge means that the challenge was taken out on the way (RFC 9700,
 * section 4.8.2).
 */
function verifierFault(challenge: string | undefined, verifier: string | undefined): string | undefined {
  if (challenge === undefined)
    return verifier === undefined ? undefined : 'code_verifier, but the authorization request had no code_challenge';
  if (verifier === undefined) return 'code_verifier is missing';
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return 'code_verifier is not 43 to 128 unreserved characters';
  const hashed = createHash('sha256').update(verifier).digest('base64url');
  return equalSecrets(challenge, hashed) ? undefined : 'code_verifier does not match the code_challenge';
}

function invalidGrant(description: string): { refusal: TokenRefusal } {
  return refuse(400, 'invalid_grant', description);
}
