import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Clock } from '../../runtime/clock.ts';
import { type Principal, principalOf } from './principal.ts';

export interface JwtVerifierOptions {
  readonly issuer: string;
  readonly audience: string;
  /** The issuer's public keys (RFC 7517). */
  readonly jwksUrl: string;
  /** Public-key signatures only: with a shared secret or `none`, who verifies could also have signed. */
  readonly algorithms: readonly string[];
}

export type JwtResult =
  | { readonly kind: 'principal'; readonly principal: Principal }
  | { readonly kind: 'refused'; readonly reason: 'expired' | 'claims' | 'signature' | 'malformed' }
  /** The keys could not be fetched: nothing is known of the token. */
  | { readonly kind: 'unavailable' };

const leewaySeconds = 30;
/** Unknown key ids make us fetch at most so often, however many are tried. */
const keysCooldownMs = 30_000;
const keysMaxAgeMs = 600_000;
const keysTimeoutMs = 5000;
const publicKeyAlgorithm = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/;
/** Visible ASCII, so that it can stand in a log and in the journal. */
const subject = /^[\x21-\x7e]{1,200}$/;

/**
 * Bearer JWTs of one issuer (RFC 7519, RFC 9068): signature by its published keys, `iss`, `aud`, `exp` (required) and `nbf` with a leeway of 30 s, `sub` within
 * `iss` as the principal (`jwt:<iss>#<sub>`): the next token of the same subject is the same caller, and a subject of another issuer is not. `scope` is a text of
 * words or an array; `accounts` an array of ids, in which `*` is every account. A claim that is missing or of another shape grants nothing.
 *
 * A token's `kid` is only ever compared to the ids of the published keys: it names no file and no address. `jku`, `x5u` and `jwk` headers are not read.
 */
export class JwtVerifier {
  private readonly clock: Clock;
  private readonly keys: JWTVerifyGetKey;
  private readonly options: JwtVerifierOptions;

  /** @throws Error when an algorithm is not one with a public key. */
  constructor(deps: { readonly clock: Clock }, options: JwtVerifierOptions) {
    const wrong = options.algorithms.find((algorithm) => !publicKeyAlgorithm.test(algorithm));
    if (wrong !== undefined || options.algorithms.length === 0)
      throw new Error('a JWT is accepted by signatures with a public key only');
    this.clock = deps.clock;
    this.options = options;
    this.keys = createRemoteJWKSet(new URL(options.jwksUrl), {
      timeoutDuration: keysTimeoutMs,
      cooldownDuration: keysCooldownMs,
      cacheMaxAge: keysMaxAgeMs,
    });
  }

  async verify(token: string): Promise<JwtResult> {
    const { issuer, audience, algorithms } = this.options;
    try {
      const { payload } = await jwtVerify(token, this.keys, {
        issuer,
        audience,
        algorithms: [...algorithms],
        clockTolerance: leewaySeconds,
        requiredClaims: ['exp', 'sub'],
        currentDate: new Date(this.clock.nowMs()),
      });
      return readClaims(issuer, payload);
    } catch (error) {
      return refusalOf(error);
    }
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
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSEAlgNotAllowed
  )
    return { kind: 'refused', reason: 'signature' };
  if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid || error instanceof errors.JOSENotSupported)
    return { kind: 'refused', reason: 'malformed' };
  // A timeout, an answer that is not 200, or keys that can't be read; a fault of ours ends here too, and then refusing everybody is the safe side.
  return { kind: 'unavailable' };
}
