import { type Stream, streams } from '../../domain/order.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Service } from '../../runtime/supervisor.ts';
import { type CredentialList, loginPrefix, type StoredCredential } from '../../runtime/token-store.ts';
import type { PlatformAccount } from '../../venue/platform/order-reads.ts';
import type { TokenSource } from '../../venue/platform/token-source.ts';
import { type RefreshingTokenSource, type TokenStatus, tokenStates } from '../../venue/platform/token-source.ts';
import type { AccountAccess, AccountStanding } from '../sources/account-access.ts';
import type { Connectors } from '../sources/connectors.ts';
import type { ConnectionReading, SourceStatus } from '../sources/source-status.ts';
import type { Sources } from './lane-parts.ts';
import type { EntryAccounts } from './platform-parts.ts';

/** One credential's connectors, and the tokens they use. */
interface CredentialParts {
  readonly tokens: RefreshingTokenSource;
  readonly connectors: Connectors;
}

/** One credential's stream, for `/status`. */
export interface CredentialSource extends SourceStatus {
  readonly credential: string;
}

interface CredentialSourcesDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly metrics: Metrics['platform'];
  /** The linked logins. Left out: tokens are kept in memory only. */
  readonly list?: CredentialList;
  readonly partsFor: (credential: string, grant: 'client_credentials' | 'refresh') => CredentialParts;
}

interface CredentialSourcesOptions {
  /** The client's own token is a credential too. */
  readonly withClient: boolean;
  /**
   * Why the list's linked logins can't be used, for example for want of a key: they are named, and
   * not followed. Left out: they can.
   */
  readonly unusable?: string;
  readonly lookEveryMs: number;
}

interface Entry extends CredentialParts {
  /** Generation of the newest tokens read from the store; undefined for the client's own. */
  generation: number | undefined;
}

/** The client's own credential, in the store. */
export const clientName = 'client';

/**
 * Every credential's sources: the client's own and each login linked by a user. A new login in the
 * store is followed without a restart. A removed one is not followed any more. One that was signed
 * in again is tried at once.
 *
 * States: idle → watching (from start to drain) and, within it, working (between `begin` and `end`:
 * the lane is held). Invariant: while working every known credential's connectors run, otherwise
 * none; a failed read of the list changes nothing.
 */
export class CredentialSources implements Service, Sources, EntryAccounts {
  readonly name = 'credentials';
  private readonly entries = new Map<string, Entry>();
  private readonly over = new AbortController();
  private watching: Promise<void> = Promise.resolve();
  private working = false;
  private readonly leaving = new Set<Promise<void>>();
  private unlisted = false;
  /** The linked logins were read once. */
  private looked = false;
  /** Linked logins that are stored and can't be used. */
  private unusable: readonly string[] = [];
  private readonly deps: CredentialSourcesDeps;
  private readonly options: CredentialSourcesOptions;

  constructor(deps: CredentialSourcesDeps, options: CredentialSourcesOptions) {
    this.deps = deps;
    this.options = options;
  }

  async start(): Promise<void> {
    if (this.options.withClient) await this.add(clientName, undefined);
    this.watching = this.watch();
  }

  async drain(): Promise<void> {
    this.over.abort();
    this.working = false;
    await this.watching;
    await Promise.all([...this.entries.keys()].map((credential) => this.remove(credential)));
  }

  async begin(): Promise<void> {
    this.working = true;
    await Promise.all([...this.entries.values()].map(({ connectors }) => connectors.begin()));
  }

  async end(): Promise<void> {
    this.working = false;
    await Promise.all([...[...this.entries.values()].map(({ connectors }) => connectors.end()), ...this.leaving]);
  }

  /** This process's accounts have changed: it has left the others' before this returns. */
  review(): void {
    for (const { connectors } of this.entries.values()) connectors.review();
  }

  get hasListed(): boolean {
    return this.unusable.length === 0 && [...this.entries.values()].every(({ connectors }) => connectors.hasListed);
  }

  /**
   * There is one credential. If another ever followed an account in the database, it was removed.
   */
  get isSole(): boolean {
    const isRead = this.deps.list === undefined || this.looked;
    return isRead && this.entries.size === 1 && this.unusable.length === 0;
  }

  /**
   * The tokens of the credential that follows the account. There is at most one (`AccountClaims`):
   * another credential may see the account too, but may not be allowed to trade.
   */
  tokensFor(accountId: string): TokenSource | undefined {
    for (const { connectors, tokens } of this.entries.values())
      if (streams.some((stream) => connectors.account(stream, accountId) !== undefined)) return tokens;
    return undefined;
  }

  account(stream: Stream, accountId: string): AccountAccess | undefined {
    for (const { connectors } of this.entries.values()) {
      const account = connectors.account(stream, accountId);
      if (account !== undefined) return account;
    }
    return undefined;
  }

  standing(accountId: string): AccountStanding | undefined {
    for (const { connectors } of this.entries.values()) {
      const standing = connectors.standing(accountId);
      if (standing !== undefined) return standing;
    }
    return undefined;
  }

  /** Opens a stream although no account needs it: see `OwnFitness`. */
  openIdle(): void {
    for (const { connectors } of this.entries.values()) connectors.openIdle();
  }

  /** The accounts in each credential's last complete list, open or not. */
  listed(): readonly PlatformAccount[] {
    return [...this.entries.values()].flatMap(({ connectors }) => connectors.listed ?? []);
  }

  /** One entry for each credential and stream; empty while the lane is not held. */
  connections(): readonly ConnectionReading[] {
    return [...this.entries.values()].flatMap(({ connectors }) => connectors.connections());
  }

  /** One entry for each credential and stream; empty while the lane is not held. */
  status(): readonly CredentialSource[] {
    return [...this.entries].flatMap(([credential, { connectors }]) =>
      connectors.status().map((source) => ({ credential, ...source })),
    );
  }

  credentials(): readonly (TokenStatus & { readonly credential: string })[] {
    const { unusable: lastError } = this.options;
    return [
      ...[...this.entries].map(([credential, { tokens }]) => ({ credential, ...tokens.status() })),
      ...this.unusable.map((credential) => ({
        ...{ credential, state: 'login_required' as const },
        ...(lastError !== undefined && { lastError }),
      })),
    ];
  }

  private async watch(): Promise<void> {
    while (!this.over.signal.aborted) {
      await this.look();
      this.publish();
      await this.deps.clock.sleep(this.options.lookEveryMs, this.over.signal);
    }
  }

  private async look(): Promise<void> {
    const { list, log } = this.deps;
    if (list === undefined) return;
    try {
      const stored = await list.stored(loginPrefix);
      if (this.options.unusable === undefined) await this.apply(stored);
      else this.nameUnusable(stored, this.options.unusable);
      this.unlisted = false;
      this.looked = true;
    } catch (error) {
      if (!this.unlisted) log.warn({ err: error }, 'the linked logins could not be listed; it is tried again');
      this.unlisted = true;
    }
  }

  /** One line for each that appears. */
  private nameUnusable(stored: readonly StoredCredential[], why: string): void {
    const names = stored.map(({ credential }) => credential);
    const added = names.filter((credential) => !this.unusable.includes(credential));
    if (added.length > 0)
      this.deps.log.error(
        { credentials: added },
        `linked logins are stored, and this process follows none of their accounts: ${why}`,
      );
    this.unusable = names;
  }

  private async apply(stored: readonly StoredCredential[]): Promise<void> {
    const known = new Map(stored.map(({ credential, generation }) => [credential, generation]));
    for (const [credential, { generation }] of this.entries) {
      if (generation === undefined) continue;
      const now = known.get(credential);
      // A lower generation: the login was removed and linked again between two reads, so it is
      // another one.
      if (now === undefined || now < generation) await this.remove(credential);
    }
    for (const { credential, generation } of stored) {
      if (this.over.signal.aborted) return;
      const entry = this.entries.get(credential);
      if (entry === undefined) await this.add(credential, generation);
      else if (entry.generation !== generation) {
        entry.generation = generation;
        if (entry.tokens.status().state === 'login_required') entry.tokens.retryNow();
      }
    }
  }

  private async add(credential: string, generation: number | undefined): Promise<void> {
    const parts = this.deps.partsFor(credential, generation === undefined ? 'client_credentials' : 'refresh');
    this.entries.set(credential, { ...parts, generation });
    await parts.tokens.start();
    if (this.working) await parts.connectors.begin();
    if (generation !== undefined) this.deps.log.info({ credential }, 'a linked login is followed');
  }

  private async remove(credential: string): Promise<void> {
    const entry = this.entries.get(credential);
    if (entry === undefined) return;
    this.entries.delete(credential);
    const leaving = entry.connectors.end();
    this.leaving.add(leaving);
    await leaving;
    this.leaving.delete(leaving);
    await entry.tokens.drain();
    if (!this.over.signal.aborted)
      this.deps.log.info({ credential }, 'a linked login was removed: it is followed no longer');
  }

  private publish(): void {
    const all = this.credentials();
    for (const state of tokenStates)
      this.deps.metrics.credentials.set({ state }, all.filter((credential) => credential.state === state).length);
    const ends = all.flatMap(({ expiresAtMs }) => (expiresAtMs === undefined ? [] : [expiresAtMs]));
    if (ends.length > 0) this.deps.metrics.tokenExpiry.set(Math.min(...ends) / 1000);
  }
}
