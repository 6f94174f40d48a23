import {
  createLocalJWKSet,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWK,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import type { Ambient } from '../../../observability/ambient.ts';
import type { RestMetrics } from '../../../observability/metrics.ts';
import { fetchWithin } from '../../../runtime/waiting.ts';
import { KeptRead } from './kept-read.ts';
import { type AuthResult, principalOf, type Why } from './principal.ts';

interface IssuerKeysDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly fetch: typeof fetch;
  readonly metrics: Pick<RestMetrics, 'issuerKeyReads'>;
}

/** A withdrawn key is noticed within a minute, and a standby has keys before it needs them. */
const readEveryMs = 60_000;
/** Unknown key ids cause at most one read in this time, however many are tried. */
const askedRestMs = 30_000;
const readTimeoutMs = 5_000;

/**
 * The issuer's public keys (RFC 7517), read at intervals and when a token names an unknown one.
 * Without an issuer no new token is signed, but a caller with a token must still be able to cancel
 * and halt. The alternative, to drop the keys after some hours, would lock all callers out in the
 * middle of the outage, although the issuer could not have withdrawn a key then either. An answer
 * without any key counts as failed.
 */
function issuerKeys(deps: IssuerKeysDeps, url: string): KeptRead<JWTVerifyGetKey> {
  return new KeptRead(
    {
      ...deps,
      read: async () => keysOf(keySetOf(await fetchWithin(deps, url, readTimeoutMs))),
      onRead: (result) => deps.metrics.issuerKeyReads.inc({ result }),
    },
    {
      everyMs: readEveryMs,
      failed: 'the keys of the issuer of JWTs could not be read; those known stay good',
      again: 'the keys of the issuer of JWTs were read again',
    },
  );
}

function keySetOf({ status, text }: { readonly status: number; readonly text: string }): JSONWebKeySet {
  if (status !== 200) throw new Error(`the answer was ${status}`);
  const set = JSON.parse(text) as { readonly keys?: unknown } | null;
  const keys = Array.isArray(set?.keys) ? set.keys.filter(isObject).map(withUsableId) : [];
  if (keys.length === 0) throw new Error('the answer holds no keys');
  return { keys };
}

/**
 * What is no key stands in no other key's way (RFC 7517, 5: one that is not understood is ignored).
 */
function isObject(key: unknown): key is JWK {
  return typeof key === 'object' && key !== null && !Array.isArray(key);
}

/** A token can name a key only by a text: any other id, and an empty one, is none. */
function withUsableId({ kid, ...key }: JWK): JWK {
  return typeof kid === 'string' && kid !== '' ? { ...key, kid } : key;
}

/**
 * A key without an id may belong to any token, also to one that names an id (RFC 7517, 4.5: the id
 * is optional).
 */
function keysOf(set: JSONWebKeySet): JWTVerifyGetKey {
  const byId = createLocalJWKSet(set);
  const unnamed = set.keys.filter(({ kid }) => kid === undefined);
  if (unnamed.length === 0) return byId;
  const ofAnyToken = createLocalJWKSet({ keys: unnamed });
  return async ({ kid, ...header }, token) => {
    try {
      return await byId({ ...header, ...(kid !== undefined && { kid }) }, token);
    } catch (error) {
      if (kid === undefined || !(error instanceof errors.JWKSNoMatchingKey)) throw error;
      return ofAnyToken(header, token);
    }
  };
}

export interface JwtVerifierOptions {
  readonly issuer: string;
  readonly audience: string;
  /** The issuer's public keys (RFC 7517). */
  readonly jwksUrl: string;
  /**
   * Public-key signatures only: with a shared secret or `none` the verifier could also have signed.
   */
  readonly algorithms: readonly string[];
  /**
   * `at+jwt`: only access tokens by RFC 9068. `jwt`: also tokens with `JWT` or nothing in their
   * header, unless they look like ID tokens.
   */
  readonly typ: 'at+jwt' | 'jwt';
}

const leewaySeconds = 30;
const publicKeyAlgorithm = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/;
/** Only ID tokens have these claims (OpenID Connect Core 2 and 3.3). */
const ofIdTokens = ['nonce', 'at_hash', 'c_hash'] as const;
/** Visible ASCII, so that it can be written to a log and to the journal. */
const subject = /^[\x21-\x7e]{1,200}$/;

/**
 * Checks one issuer's bearer JWTs (RFC 7519, RFC 9068): the signature by the issuer's published
 * keys, `iss`, `aud`, `exp` (required) and `nbf` with a leeway of 30 s. The principal is `sub`
 * within `iss` (`jwt:<iss>#<sub>`): the same subject's next token is the same caller, another
 * issuer's subject is not. `scope` is a text of words or an array; `accounts` an array of ids, and
 * `*` in it is every account. A claim that is missing or has another shape grants nothing. The
 * header's `typ` says that it is an access token.
 *
 * A token's `kid` is only compared with the published keys' ids: it never names a file or an
 * address. `jku`, `x5u` and `jwk` headers are not read.
 */
export class JwtVerifier {
  readonly keys: KeptRead<JWTVerifyGetKey>;
  private readonly refused: RefusedTokens;
  private readonly deps: IssuerKeysDeps;
  private readonly options: JwtVerifierOptions;

  /** @throws Error when an algorithm has no public key. */
  constructor(deps: IssuerKeysDeps, options: JwtVerifierOptions) {
    const wrong = options.algorithms.find((algorithm) => !publicKeyAlgorithm.test(algorithm));
    if (wrong !== undefined || options.algorithms.length === 0)
      throw new Error('a JWT is accepted by signatures with a public key only');
    this.deps = deps;
    this.options = options;
    this.keys = issuerKeys(deps, options.jwksUrl);
    this.refused = new RefusedTokens(deps);
  }

  /** Only the log says why a token was refused: its sender learns nothing. */
  async verify(token: string): Promise<AuthResult> {
    const result = await this.judgeByNewest(token);
    if (result.kind === 'refused') this.refused.note(result, token);
    return result;
  }

  private async judgeByNewest(token: string): Promise<AuthResult> {
    const { keys } = this;
    if (keys.known === undefined) await keys.readAgain(askedRestMs);
    const { known } = keys;
    if (known === undefined) return { kind: 'unavailable' };
    const judged = await this.judge(token, known);
    if (judged !== 'no_key') return judged;
    // If the issuer can't be asked, the key may be a new one.
    await keys.readAgain(askedRestMs);
    if (keys.failing || keys.known === undefined) return { kind: 'unavailable' };
    const again = keys.known === known ? 'no_key' : await this.judge(token, keys.known);
    return again === 'no_key' ? { kind: 'refused', reason: 'signature', why: this.noSuchKey } : again;
  }

  private get noSuchKey(): Why {
    return { claim: 'kid', found: undefined, expected: `a key of ${this.options.jwksUrl}` };
  }

  private async judge(token: string, keys: JWTVerifyGetKey): Promise<AuthResult | 'no_key'> {
    try {
      return await this.judgeBy(token, keys);
    } catch (error) {
      if (error instanceof errors.JWKSMultipleMatchingKeys) return this.judgeByEach(token, error);
      return error instanceof errors.JWKSNoMatchingKey ? 'no_key' : refusalOf(error, this.options);
    }
  }

  /**
   * Several keys may have signed it: keys without an id, or with the same one. The actual signer's
   * key decides.
   */
  private async judgeByEach(token: string, keys: errors.JWKSMultipleMatchingKeys): Promise<AuthResult | 'no_key'> {
    for await (const key of keys) {
      try {
        return await this.judgeBy(token, () => key);
      } catch (error) {
        if (!(error instanceof errors.JWSSignatureVerificationFailed)) return refusalOf(error, this.options);
      }
    }
    return 'no_key';
  }

  /** Rejects as `jwtVerify` does. */
  private async judgeBy(token: string, keyOf: JWTVerifyGetKey): Promise<AuthResult> {
    const { issuer, audience, algorithms } = this.options;
    const options = {
      issuer,
      audience,
      algorithms: [...algorithms],
      clockTolerance: leewaySeconds,
      requiredClaims: ['exp', 'sub'],
      currentDate: new Date(this.deps.clock.nowMs()),
    };
    const { payload, protectedHeader } = await jwtVerify(token, keyOf, options);
    const why = this.otherThanAccess(protectedHeader.typ, payload);
    return why === undefined ? readClaims(issuer, payload) : { kind: 'refused', reason: 'claims', why };
  }

  /**
   * Why it is no access token; undefined: it is one. RFC 9068, 4 and 5: an issuer signs other
   * tokens for the same subject, and none of them may be accepted as an access token.
   */
  private otherThanAccess(typ: string | undefined, payload: JWTPayload): Why | undefined {
    const said = typ?.toLowerCase().replace(/^application\//, '');
    if (said === 'at+jwt') return undefined;
    const { typ: expected } = this.options;
    if (expected === 'at+jwt' || (said !== undefined && said !== 'jwt')) return { claim: 'typ', found: typ, expected };
    const claim = ofIdTokens.find((each) => payload[each] !== undefined);
    return claim && { claim, found: 'given', expected: 'none: only an ID token has it' };
  }
}

function readClaims(issuer: string, { sub, scope, accounts }: JWTPayload): AuthResult {
  if (sub === undefined || !subject.test(sub)) {
    const why = { claim: 'sub', found: sub, expected: 'up to 200 visible ASCII characters' };
    return { kind: 'refused', reason: 'claims', why };
  }
  const granted = typeof scope === 'string' ? scope.split(' ') : words(scope);
  const named = words(accounts);
  return {
    kind: 'principal',
    principal: principalOf(`jwt:${issuer}#${sub}`, granted, named.includes('*') ? 'all' : named),
  };
}

function words(claim: unknown): readonly string[] {
  return Array.isArray(claim) ? claim.filter((word) => typeof word === 'string') : [];
}

/** With the claim behind an error of `jwtVerify`, if it is about one. */
function refusalOf(error: unknown, { issuer, audience, algorithms, jwksUrl }: JwtVerifierOptions): AuthResult {
  const kind = 'refused';
  if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed) {
    const { claim, payload } = error;
    const expected: Readonly<Record<string, string>> = {
      iss: issuer,
      aud: audience,
      exp: 'later than now',
      nbf: 'not later than now',
    };
    const reason = error instanceof errors.JWTExpired ? 'expired' : 'claims';
    return { kind, reason, why: { claim, found: payload[claim], expected: expected[claim] ?? 'given' } };
  }
  const reason = 'signature';
  if (error instanceof errors.JOSEAlgNotAllowed)
    return { kind, reason, why: { claim: 'alg', found: undefined, expected: algorithms } };
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return { kind, reason, why: { claim: reason, found: 'of another key', expected: `of a key of ${jwksUrl}` } };
  const malformed = [errors.JWTInvalid, errors.JWSInvalid, errors.JOSENotSupported];
  if (malformed.some((each) => error instanceof each)) return { kind, reason: 'malformed' };
  // A published key that can't be used. A fault of our own ends here too; it is safer to let no
  // caller in then.
  return { kind: 'unavailable' };
}

const logEveryMs = 60_000;
/** A longer text is cut: it is the sender's. */
const mostChars = 200;

/**
 * Why tokens were refused, in the log: the claim, its value and the expected one, never the token.
 * One line a minute for each claim, with the number of refusals since the line before. So a wrong
 * audience or a clock that is behind is found without the token, and a flood does not fill the log.
 */
export class RefusedTokens {
  private readonly told = new Map<string, { atMs: number; times: number }>();
  private readonly deps: Pick<Ambient, 'clock' | 'log'>;

  constructor(deps: Pick<Ambient, 'clock' | 'log'>) {
    this.deps = deps;
  }

  note({ reason, why }: { readonly reason: string; readonly why?: Why }, token: string): void {
    const { clock, log } = this.deps;
    const nowMs = clock.monotonicMs();
    const key = `${reason} ${why?.claim ?? ''}`;
    const told = this.told.get(key) ?? { atMs: Number.NEGATIVE_INFINITY, times: 0 };
    this.told.set(key, told);
    told.times += 1;
    if (nowMs - told.atMs < logEveryMs) return;
    const { alg, kid, typ } = headerOf(token);
    const { claim, found, expected } = why ?? {};
    const header = { alg: shown(alg), kid: shown(kid), typ: shown(typ) };
    log.warn({ reason, claim, found: shown(found), expected, header, times: told.times }, 'a bearer JWT was refused');
    told.atMs = nowMs;
    told.times = 0;
  }
}

function headerOf(token: string): { readonly alg?: unknown; readonly kid?: unknown; readonly typ?: unknown } {
  try {
    return decodeProtectedHeader(token);
  } catch {
    return {};
  }
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : (JSON.stringify(value) ?? '').slice(0, mostChars);
}
