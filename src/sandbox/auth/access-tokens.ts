import {
  decodeJwt,
  exportJWK,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JSONWebKeySet,
  jwtVerify,
  SignJWT,
} from 'jose';
import type { Ambient } from '../../observability/ambient.ts';
import type { Principal } from './directory.ts';

type AccessTokenDeps = Pick<Ambient, 'clock' | 'random'>;

interface AccessTokenOptions {
  readonly lifetimeSeconds: number;
  /** Each new token ends those before of the same client, or of the same user's logins by it. */
  readonly single: boolean;
}

interface LiveToken {
  readonly principal: Principal;
  revoked: boolean;
}

const algorithm = 'ES256';

/**
 * Issues, checks and revokes access tokens: JWTs signed with a key of this process. Its public half
 * is at the JWKS address.
 *
 * Invariant: `check` answers with a principal only for a token signed by this instance, not expired
 * by the injected clock, and not revoked; `onRevoked` is called once for each revoked token, so
 * that its streams end.
 */
export class AccessTokens {
  /** For the tokens to come. */
  lifetimeSeconds: number;
  /** `iss` and `aud` in every token: the platform's base address, known once it listens. */
  issuer = '';
  private readonly live = new Map<string, LiveToken>();
  private readonly listeners = new Set<(tokenId: string) => void>();
  private readonly deps: AccessTokenDeps;
  private readonly options: AccessTokenOptions;
  private readonly keys: GenerateKeyPairResult;
  private readonly keyId: string;

  static async create(deps: AccessTokenDeps, options: AccessTokenOptions): Promise<AccessTokens> {
    return new AccessTokens(deps, options, await generateKeyPair(algorithm));
  }

  private constructor(deps: AccessTokenDeps, options: AccessTokenOptions, keys: GenerateKeyPairResult) {
    this.deps = deps;
    this.options = options;
    this.lifetimeSeconds = options.lifetimeSeconds;
    this.keys = keys;
    this.keyId = deps.random.uuid();
  }

  async jwks(): Promise<JSONWebKeySet> {
    const key = await exportJWK(this.keys.publicKey);
    return { keys: [{ ...key, kid: this.keyId, alg: algorithm, use: 'sig' }] };
  }

  /** A token for `lifetimeSeconds` from now. */
  async issue(
    subject: Pick<Principal, 'clientId' | 'username' | 'scopes' | 'loginId'>,
  ): Promise<{ token: string; principal: Principal; expiresIn: number }> {
    this.forgetExpired();
    const issuedAt = Math.floor(this.deps.clock.nowMs() / 1000);
    const expiresIn = this.lifetimeSeconds;
    const principal: Principal = {
      ...subject,
      tokenId: this.deps.random.uuid(),
      expiresAtMs: (issuedAt + expiresIn) * 1000,
    };
    const token = await new SignJWT({ scope: [...subject.scopes].join(' '), client_id: subject.clientId })
      .setProtectedHeader({ alg: algorithm, typ: 'at+jwt', kid: this.keyId })
      .setIssuer(this.issuer)
      .setAudience(this.issuer)
      .setSubject(subject.username ?? subject.clientId)
      .setJti(principal.tokenId)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + expiresIn)
      .sign(this.keys.privateKey);
    const { clientId, username } = subject;
    if (this.options.single) this.revoke((other) => other.clientId === clientId && other.username === username);
    this.live.set(principal.tokenId, { principal, revoked: false });
    return { token, principal, expiresIn };
  }

  /** Who the token speaks for; undefined when it is not ours, has expired or was revoked. */
  async check(token: string): Promise<Principal | undefined> {
    try {
      const { payload } = await jwtVerify(token, this.keys.publicKey, {
        issuer: this.issuer,
        audience: this.issuer,
        algorithms: [algorithm],
        requiredClaims: ['exp', 'jti'],
        currentDate: new Date(this.deps.clock.nowMs()),
      });
      const known = this.live.get(payload.jti ?? '');
      return known === undefined || known.revoked ? undefined : known.principal;
    } catch {
      return undefined;
    }
  }

  /** The id of a token of ours, for the ledger, whether it is good or not. */
  idOf(token: string): string | undefined {
    try {
      const { jti = '' } = decodeJwt(token);
      return this.live.has(jti) ? jti : undefined;
    } catch {
      return undefined;
    }
  }

  /** Ends tokens before their time: all, or those picked by `which`. Returns how many. */
  revoke(which: (principal: Principal) => boolean): number {
    let count = 0;
    for (const [tokenId, token] of this.live) {
      if (token.revoked || !which(token.principal)) continue;
      token.revoked = true;
      count += 1;
      for (const listener of this.listeners) listener(tokenId);
    }
    return count;
  }

  /** Calls back with each revoked token's id; returns the way to unsubscribe. */
  onRevoked(listener: (tokenId: string) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  restoreLifetime(): void {
    this.lifetimeSeconds = this.options.lifetimeSeconds;
  }

  private forgetExpired(): void {
    if (this.live.size < 4096) return;
    for (const [tokenId, token] of this.live)
      if (token.principal.expiresAtMs <= this.deps.clock.nowMs()) this.live.delete(tokenId);
  }
}
