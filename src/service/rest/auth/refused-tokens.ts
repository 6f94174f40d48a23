import { decodeProtectedHeader, errors } from 'jose';
import type { Ambient } from '../../../observability/ambient.ts';

interface RefusedTokensDeps extends Pick<Ambient, 'clock' | 'log'> {}

/** The claim, the value found in it, and the expected value. */
export interface Why {
  readonly claim: string;
  readonly found: unknown;
  readonly expected: unknown;
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
  private readonly deps: RefusedTokensDeps;

  constructor(deps: RefusedTokensDeps) {
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

interface Expected {
  readonly issuer: string;
  readonly audience: string;
  readonly algorithms: readonly string[];
  readonly jwksUrl: string;
}

/** The claim behind an error of `jwtVerify`. Nothing if it is about none. */
export function describeRefusal(
  error: unknown,
  { issuer, audience, algorithms, jwksUrl }: Expected,
): { readonly why?: Why } {
  if (error instanceof errors.JOSEAlgNotAllowed)
    return { why: { claim: 'alg', found: undefined, expected: algorithms } };
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return { why: { claim: 'signature', found: 'of another key', expected: `of a key of ${jwksUrl}` } };
  if (!(error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed)) return {};
  const { claim, payload } = error;
  const expected: Readonly<Record<string, string>> = {
    iss: issuer,
    aud: audience,
    exp: 'later than now',
    nbf: 'not later than now',
  };
  return { why: { claim, found: payload[claim], expected: expected[claim] ?? 'given' } };
}
