import type { JwtVerifier } from './jwt-verifier.ts';
import { type AuthResult, loopbackPrincipal } from './principal.ts';
import type { StaticTokens } from './static-tokens.ts';

interface AuthenticatorDeps {
  /** Absent: no JWT is accepted. */
  readonly jwt: JwtVerifier | undefined;
  /**
   * Absent: no static token is accepted. With neither, every caller is `loopback`, and the server
   * binds to loopback only.
   */
  readonly tokens: StaticTokens | undefined;
}

/** Longer than any known token; headers may have 8 KiB in all. */
const bearer = /^bearer +([\x21-\x7e]{1,7000})$/i;
/** Three parts, the first a JSON object in base64url: none of our static tokens looks like this. */
const jwtShape = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/;

const asLoopback: AuthResult = { kind: 'principal', principal: loopbackPrincipal };

/**
 * Finds a request's caller by its `Authorization` header (RFC 6750). Never rejects. Answers without
 * a promise if it need not wait.
 */
export class Authenticator {
  private readonly deps: AuthenticatorDeps;

  constructor(deps: AuthenticatorDeps) {
    this.deps = deps;
  }

  /** False: every caller that reaches the port may do everything. */
  get required(): boolean {
    return this.deps.jwt !== undefined || this.deps.tokens !== undefined;
  }

  authenticate(authorization: string | undefined): AuthResult | Promise<AuthResult> {
    if (!this.required) return asLoopback;
    if (authorization === undefined) return { kind: 'refused', reason: 'missing' };
    const token = bearer.exec(authorization)?.[1];
    if (token === undefined) return { kind: 'refused', reason: 'malformed' };
    const { jwt, tokens } = this.deps;
    if (jwt !== undefined && jwtShape.test(token)) return jwt.verify(token);
    const found = tokens?.find(token);
    if (found === undefined) return { kind: 'refused', reason: 'unknown_token' };
    return found === 'expired' ? { kind: 'refused', reason: 'expired' } : { kind: 'principal', principal: found };
  }
}
