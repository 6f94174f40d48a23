import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { IssuerKeys, type IssuerKeysDeps } from './issuer-keys.ts';
import { type Principal, principalOf } from './principal.ts';

export interface JwtVerifierOptions {
  readonly issuer: string;
  readonly audience: string;
  /** The issuer's public keys (RFC 7517). */
  readonly jwksUrl: string;
  /** Public-key signatures only: with a shared secret or `none`, who verifies could also have signed. */
  readonly algorithms: readonly string[];
  /** `at+jwt`: access tokens by RFC 9068 alone. `jwt`: also those whose header says `JWT` or nothing, unless they look like ID tokens. */
  readonly typ: 'at+jwt' | 'jwt';
}

export type JwtResult =
  | { readonly kind: 'principal'; readonly principal: Principal }
  | { readonly kind: 'refused'; readonly reason: 'expired' | 'claims' | 'signature' | 'malformed' }
  /** Its key is not known, and the issuer can't be asked: nothing is known of the token. */
  | { readonly kind: 'unavailable' };

const leewaySeconds = 30;
const publicKeyAlgorithm = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/;
/** OpenID Connect Core 2 and 3.3: only an ID token has them. */
const ofIdTokens = ['nonce', 'at_hash', 'c_hash'] as const;
/** Visible ASCII, so that it can stand in a log and in the journal. */
const subject = /^[\x21-\x7e]{1,200}$/;

/**
 * Bearer JWTs of one issuer (RFC 7519, RFC 9068): signature by its published keys, `iss`, `aud`, `exp` (required) and `nbf` with a leeway of 30 s, `sub` within
 * `iss` as the principal (`jwt:<iss>#<sub>`): the next token of the same subject is the same caller, and a subject of another issuer is not. `scope` is a text of
 * words or an array; `accounts` an array of ids, in which `*` is every account. A claim that is missing or of another shape grants nothing.
 * The `typ` of the header says that it is an access token.
 *
 * A token's `kid` is only ever compared to the ids of the published keys: it names no file and no address. `jku`, `x5u` and `jwk` headers are not read.
 */
export class JwtVerifier {
  readonly keys: IssuerKeys;
  private readonly deps: IssuerKeysDeps;
  private readonly options: JwtVerifierOptions;

  /** @throws Error when an algorithm is not one with a public key. */
  constructor(deps: IssuerKeysDeps, options: JwtVerifierOptions) {
    const wrong = options.algorithms.find((algorithm) => !publicKeyAlgorithm.test(algorithm));
    if (wrong !== undefined || options.algorithms.length === 0)
      throw new Error('a JWT is accepted by signatures with a public key only');
    this.deps = deps;
    this.options = options;
    this.keys = new IssuerKeys(deps, options.jwksUrl);
  }

  async verify(token: string): Promise<JwtResult> {
    const known = await this.keys.known();
    if (known === undefined) return { kind: 'unavailable' };
    const judged = await this.judge(token, known);
    if (judged !== 'no_key') return judged;
    const newest = await this.keys.newest();
    if (newest === 'unknown') return { kind: 'unavailable' };
    const again = newest === known ? 'no_key' : await this.judge(token, newest);
    return again === 'no_key' ? { kind: 'refused', reason: 'signature' } : again;
  }

  private async judge(token: string, keys: JWTVerifyGetKey): Promise<JwtResult | 'no_key'> {
    const { issuer, audience, algorithms } = this.options;
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms: [...algorithms],
        clockTolerance: leewaySeconds,
        requiredClaims: ['exp', 'sub'],
        currentDate: new Date(this.deps.clock.nowMs()),
      });
      if (!this.isAccessToken(protectedHeader.typ, payload)) return { kind: 'refused', reason: 'claims' };
      return readClaims(issuer, payload);
    } catch (error) {
      return error instanceof errors.JWKSNoMatchingKey ? 'no_key' : refusalOf(error);
    }
  }

  /** RFC 9068, 4 and 5: an issuer signs other things for the same subject, of which none may pass for an access token. */
  private isAccessToken(typ: string | undefined, payload: JWTPayload): boolean {
    const said = typ?.toLowerCase().replace(/^application\//, '');
    if (said === 'at+jwt' || this.options.typ === 'at+jwt') return said === 'at+jwt';
    return (said === undefined || said === 'jwt') && ofIdTokens.every((claim) => payload[claim] === undefined);
  }
}

function readClaims(issuer: string, { sub, scope, accounts }: JWTPayload): JwtResult {
  if (sub === undefined || !subject.test(sub)) return { kind: 'refused', reason: 'claims' };
  const granted = typeof scope === 'string' ? scope.split(' ') : words(scope);
  const named = words(accounts);
  return { kind: 'principal', principal: principalOf(`jwt:${issuer}#${sub}`, granted, named.includes('*') ? 'all' : named) };
}

function words(claim: unknown): readonly string[] {
  return Array.isArray(claim) ? claim.filter((word) => typeof word === 'string') : [];
}

function refusalOf(error: unknown): JwtResult {
  if (error instanceof errors.JWTExpired) return { kind: 'refused', reason: 'expired' };
  if (error instanceof errors.JWTClaimValidationFailed) return { kind: 'refused', reason: 'claims' };
  if (
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSEAlgNotAllowed
  )
    return { kind: 'refused', reason: 'signature' };
  if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid || error instanceof errors.JOSENotSupported)
    return { kind: 'refused', reason: 'malformed' };
  // A published key that can't be used; a fault of ours ends here too, and then it is safer to let no caller in.
  return { kind: 'unavailable' };
}
