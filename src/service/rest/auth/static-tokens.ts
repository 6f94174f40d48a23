import { hash, timingSafeEqual } from 'node:crypto';
import { isReservedName } from '../../../domain/reserved-name.ts';
import type { Ambient } from '../../../observability/ambient.ts';
import type { Timer } from '../../../runtime/clock.ts';
import { type ReadIfChanged, readAlways } from '../../../store/fleet/changes.ts';
import { mostActive, type PrincipalStore, type PrincipalToken } from '../../../store/principals.ts';
import { type Principal, principalOf } from './principal.ts';

interface StaticTokensDeps extends Pick<Ambient, 'clock' | 'log'> {
  /** Absent: only the configured tokens exist. */
  readonly store?: PrincipalStore | undefined;
  /** Spares the reads while no token has changed. */
  readonly tokenChanges?: ReadIfChanged | undefined;
}

interface StaticTokensOptions {
  readonly configured: readonly PrincipalToken[];
  /** A new or revoked token in the database takes effect within this time. */
  readonly refreshEveryMs: number;
}

interface Known {
  readonly digest: Buffer;
  readonly principal: Principal;
  readonly expiresAtMs: number;
}

/**
 * Tokens that do not name their owner: the configured ones, and the database's at the last read.
 *
 * States: idle → refreshing at intervals (`start`) → stopped. A failed read keeps the tokens from
 * the read before: without the database nothing could be read or journaled for them anyway. Expiry
 * goes by the clock it is given, so it takes effect whether the database answers or not.
 * Invariant: an ended token stays so, and an end never gets later. If the database comes back
 * without one, the token is refused, and is ended again.
 */
export class StaticTokens {
  private readonly configured: readonly Known[];
  private stored: readonly Known[] = [];
  /** The tokens from the last read. */
  private lastRead: readonly PrincipalToken[] = [];
  /** By hash: the earliest end of a database token. */
  private readonly ends = new Map<string, number>();
  private timer: Timer | undefined;
  private stopped = false;
  private failing = false;
  private readonly deps: StaticTokensDeps;
  private readonly refreshEveryMs: number;

  constructor(deps: StaticTokensDeps, options: StaticTokensOptions) {
    this.deps = deps;
    this.refreshEveryMs = options.refreshEveryMs;
    this.configured = options.configured.map(knownOf);
  }

  /**
   * Compares every known token, each in constant time: the time taken does not show which one was
   * close.
   */
  find(token: string): Principal | 'expired' | undefined {
    const digest = hash('sha256', token, 'buffer');
    let found: Known | undefined;
    for (const known of this.configured) if (timingSafeEqual(known.digest, digest)) found = known;
    for (const known of this.stored) if (timingSafeEqual(known.digest, digest)) found ??= known;
    return found !== undefined && found.expiresAtMs <= this.deps.clock.nowMs() ? 'expired' : found?.principal;
  }

  /** Resolves after the first read, also when it failed. */
  async start(): Promise<void> {
    const { store, clock } = this.deps;
    if (store === undefined || this.stopped) return;
    await this.refresh(store);
    if (!this.stopped) this.timer = clock.after(this.refreshEveryMs, () => void this.start());
  }

  stop(): void {
    this.stopped = true;
    this.timer?.cancel();
  }

  private async refresh(store: PrincipalStore): Promise<void> {
    const { tokenChanges = readAlways } = this.deps;
    try {
      await tokenChanges(async () => {
        // Written into the table by hand: its actions would look like the service's own.
        const read = (await store.active()).filter(({ name }) => !isReservedName(name));
        this.noteEnds(store, read);
        this.stored = read.map((token) =>
          knownOf({ ...token, expiresAtMs: this.ends.get(token.sha256) ?? Number.POSITIVE_INFINITY }),
        );
        return true;
      });
      this.failing = false;
    } catch (error) {
      if (!this.failing)
        this.deps.log.warn({ err: error }, 'the tokens of the database could not be read; those known stay in force');
      this.failing = true;
    }
  }

  /**
   * A token that the database no longer has is ended, unless the database has more tokens than one
   * read shows.
   */
  private noteEnds(store: PrincipalStore, read: readonly PrincipalToken[]): void {
    const there = new Set(read.map(({ sha256 }) => sha256));
    const gone = read.length < mostActive ? this.lastRead.filter(({ sha256 }) => !there.has(sha256)) : [];
    const nowMs = this.deps.clock.nowMs();
    for (const token of gone) this.noteEnd(store, token, Math.min(nowMs, token.expiresAtMs ?? nowMs));
    for (const token of read) {
      const { name, number, sha256, expiresAtMs = Number.POSITIVE_INFINITY } = token;
      const endsAtMs = this.ends.get(sha256) ?? Number.POSITIVE_INFINITY;
      if (expiresAtMs < endsAtMs) this.noteEnd(store, token, expiresAtMs);
      if (expiresAtMs <= endsAtMs) continue;
      this.deps.log.error(
        { principal: name, number, endsAtMs },
        'the database has lost the end of this token; it is ended again',
      );
      store
        .endAgain?.(token, endsAtMs)
        .catch((err: unknown) => this.deps.log.warn({ err }, 'a token could not be ended again'));
    }
    this.lastRead = read;
  }

  private noteEnd(store: PrincipalStore, token: PrincipalToken, endsAtMs: number): void {
    const before = this.ends.get(token.sha256) ?? Number.POSITIVE_INFINITY;
    if (endsAtMs >= before) return;
    this.ends.set(token.sha256, endsAtMs);
    // An end that it had from the beginning is no news.
    if (this.lastRead.some(({ sha256 }) => sha256 === token.sha256)) store.sawEnd?.(token, endsAtMs);
  }
}

function knownOf({ name, number, sha256, scopes, accounts, expiresAtMs }: PrincipalToken): Known {
  const digest = Buffer.from(sha256, 'hex');
  if (digest.length !== 32) throw new Error(`the hash of a token of ${name} is not a SHA-256`);
  return {
    digest,
    principal: principalOf(name, scopes, accounts, number),
    expiresAtMs: expiresAtMs ?? Number.POSITIVE_INFINITY,
  };
}
