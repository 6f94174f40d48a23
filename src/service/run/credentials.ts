import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Service } from '../../runtime/supervisor.ts';
import { type CredentialList, loginPrefix, type StoredCredential } from '../../runtime/token-store.ts';
import { type ReadIfChanged, readAlways } from '../../store/fleet/changes.ts';
import type { OrderReads } from '../../venue/order-reads.ts';
import { type RefreshingTokenSource, type TokenStatus, tokenStates } from '../../venue/platform/token-source.ts';
import type { Venue } from '../../venue/venue.ts';
import type { Connectors } from '../sources/connectors.ts';

/** One credential's tokens, and the reads that use them. */
interface SignedIn {
  readonly venue: Venue;
  readonly tokens: RefreshingTokenSource;
  readonly reads: OrderReads;
}

interface CredentialsDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly metrics: Metrics['platform'];
  /** The linked logins. Left out: tokens are kept in memory only. */
  readonly list?: CredentialList;
  /** Spares the reads while no login has changed. */
  readonly loginChanges?: ReadIfChanged;
  /** Left out: the platform is not followed. */
  readonly signedIn?: (credential: string, grant: 'client_credentials' | 'refresh') => SignedIn;
  readonly connectors: Pick<Connectors, 'add' | 'remove'>;
  /** All venues'. */
  readonly sources: Pick<Connectors, 'end'>;
  /** The key pairs of other venues, for `status`. */
  readonly keys?: readonly { readonly credential: string; status(): TokenStatus }[];
}

interface CredentialsOptions {
  /** The client's own token is a credential too. */
  readonly withClient: boolean;
  /**
   * Why the list's linked logins can't be used, for example for want of a key: they are named, and
   * not followed. Left out: they can.
   */
  readonly unusable?: string;
  readonly lookEveryMs: number;
}

interface Entry {
  readonly tokens: RefreshingTokenSource;
  /** The newest stored tokens' generation; undefined for the client's own. */
  generation: number | undefined;
}

/** The client's own credential, in the store. */
export const clientName = 'client';

/**
 * The platform's logins: the client's own, and those linked by users. A new one in the store is
 * followed without a restart. A removed one is not followed any more. One signed in again is tried
 * at once. A failed read changes nothing.
 */
export class Credentials implements Service {
  readonly name = 'credentials';
  private readonly entries = new Map<string, Entry>();
  private readonly over = new AbortController();
  private watching: Promise<void> = Promise.resolve();
  private unlisted = false;
  /** The linked logins were read, and each is in use. */
  private looked = false;
  /** Linked and stored logins it can't use. */
  private unusable: readonly string[] = [];
  private readonly deps: CredentialsDeps;
  private readonly options: CredentialsOptions;

  constructor(deps: CredentialsDeps, options: CredentialsOptions) {
    this.deps = deps;
    this.options = options;
  }

  async start(): Promise<void> {
    if (this.options.withClient) await this.add(clientName, undefined);
    this.watching = this.watch();
  }

  async drain(): Promise<void> {
    this.over.abort();
    await this.watching;
    await this.deps.sources.end();
    await Promise.all([...this.entries.keys()].map((credential) => this.remove(credential)));
  }

  /** No other login is left by which an account in the database was ever followed. */
  get knowsAll(): boolean {
    return (this.deps.list === undefined || this.looked) && this.unusable.length === 0;
  }

  status(): readonly (TokenStatus & { readonly credential: string })[] {
    const { unusable: lastError } = this.options;
    return [
      ...[...this.entries].map(([credential, { tokens }]) => ({ credential, ...tokens.status() })),
      ...(this.deps.keys ?? []).map((key) => ({ credential: key.credential, ...key.status() })),
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
    const { list, log, loginChanges = readAlways } = this.deps;
    if (list === undefined) return;
    try {
      await loginChanges(async () => {
        const stored = await list.stored(loginPrefix);
        // A login linked again is gone for a moment: its accounts do not go to another one.
        this.looked = false;
        if (this.options.unusable === undefined) await this.apply(stored);
        else this.nameUnusable(stored, this.options.unusable);
        this.looked = true;
        return true;
      });
      this.unlisted = false;
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
    const { log, connectors, signedIn } = this.deps;
    if (signedIn === undefined) return;
    const { venue, tokens, reads } = signedIn(credential, generation === undefined ? 'client_credentials' : 'refresh');
    this.entries.set(credential, { tokens, generation });
    await tokens.start();
    connectors.add(credential, { venue, tokens, reads, log: log.child({ credential }) });
    if (generation !== undefined) log.info({ credential }, 'a linked login is followed');
  }

  private async remove(credential: string): Promise<void> {
    const entry = this.entries.get(credential);
    if (entry === undefined) return;
    this.entries.delete(credential);
    await this.deps.connectors.remove(credential);
    await entry.tokens.drain();
    if (!this.over.signal.aborted)
      this.deps.log.info({ credential }, 'a linked login was removed: it is followed no longer');
  }

  private publish(): void {
    const all = this.status();
    for (const state of tokenStates)
      this.deps.metrics.credentials.set({ state }, all.filter((credential) => credential.state === state).length);
    const ends = all.flatMap(({ expiresAtMs }) => (expiresAtMs === undefined ? [] : [expiresAtMs]));
    if (ends.length > 0) this.deps.metrics.tokenExpiry.set(Math.min(...ends) / 1000);
  }
}
