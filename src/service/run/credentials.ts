import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { Rounds } from '../../runtime/rounds.ts';
import type { Service } from '../../runtime/supervisor.ts';
import type { CredentialList, StoredCredential } from '../../runtime/token-store.ts';
import { type ReadIfChanged, readAlways } from '../../store/fleet/changes.ts';
import type { OrderReads } from '../../venue/order-reads.ts';
import { type LoginTokens, type TokenStatus, tokenStates } from '../../venue/tokens.ts';
import type { Venue } from '../../venue/venue.ts';
import type { Connectors } from '../sources/connectors.ts';

/** One credential's tokens, and the reads that use them. */
interface SignedIn {
  readonly venue: Venue;
  readonly tokens: LoginTokens;
  readonly reads: OrderReads;
}

/** One venue's logins, or one stream's. */
export interface LoginKind {
  /** The settings' login. Left out: they have none. */
  readonly own?: string;
  /** Linked logins have names with it. Left out: none are followed. */
  readonly prefix?: string;
  readonly connectors: Pick<Connectors, 'add' | 'remove'>;
  /** Rejects when the store can't be reached. */
  signIn(credential: string): Promise<SignedIn>;
}

interface CredentialsDeps extends ClockAndLogger {
  readonly metrics: Metrics['platform'];
  /** The linked logins. */
  readonly list: Pick<CredentialList, 'stored'>;
  /** Spares the reads while no login has changed. */
  readonly loginChanges?: ReadIfChanged;
  readonly kinds: readonly LoginKind[];
  /** All venues'. */
  readonly sources: Pick<Connectors, 'end'>;
}

interface CredentialsOptions {
  /**
   * Why the list's linked logins can't be used, for example for want of a key: they are named, and
   * not followed. Left out: they can.
   */
  readonly unusable?: string;
  readonly lookEveryMs: number;
}

interface Entry {
  readonly kind: LoginKind;
  readonly tokens: LoginTokens;
  /** The newest stored tokens' generation; undefined for the settings' own. */
  generation: number | undefined;
}

interface Linked extends StoredCredential {
  readonly kind: LoginKind;
}

/**
 * All venues' logins, in the settings and linked by users. A new one in the store is followed
 * without a restart. A removed one is not followed any more. One signed in again is tried at once,
 * and another key replaces the earlier one. A failed read changes nothing.
 */
export class Credentials implements Service {
  readonly name = 'credentials';
  private readonly entries = new Map<string, Entry>();
  private readonly over = new AbortController();
  private readonly watching: Rounds;
  /** The linked logins were read, and each is in use. */
  private looked = false;
  /** Linked and stored logins it can't use. */
  private unusable: readonly string[] = [];
  private readonly deps: CredentialsDeps;
  private readonly options: CredentialsOptions;

  constructor(deps: CredentialsDeps, options: CredentialsOptions) {
    this.deps = deps;
    this.options = options;
    this.watching = new Rounds(
      { ...deps, round: () => this.look().finally(() => this.publish()) },
      { name: this.name, everyMs: options.lookEveryMs, doing: 'listing the linked logins' },
    );
  }

  async start(): Promise<void> {
    for (const kind of this.deps.kinds) if (kind.own !== undefined) await this.add(kind, kind.own, undefined);
    await this.watching.start();
  }

  async drain(): Promise<void> {
    this.over.abort();
    await this.watching.drain();
    await this.deps.sources.end();
    await Promise.all([...this.entries.keys()].map((credential) => this.remove(credential)));
  }

  /** No other login is left by which an account in the database was ever followed. */
  get knowsAll(): boolean {
    return (this.looked || this.deps.kinds.every(({ prefix }) => prefix === undefined)) && this.unusable.length === 0;
  }

  status(): readonly (TokenStatus & { readonly credential: string })[] {
    const { unusable: lastError } = this.options;
    return [
      ...[...this.entries].map(([credential, { tokens }]) => ({ credential, ...tokens.status() })),
      ...this.unusable.map((credential) => ({
        credential,
        state: 'login_required' as const,
        ...(lastError !== undefined && { lastError }),
      })),
    ];
  }

  private async look(): Promise<void> {
    const { loginChanges = readAlways } = this.deps;
    await loginChanges(async () => {
      const stored = await this.linked();
      // A login linked again is gone for a moment: its accounts do not go to another one.
      this.looked = false;
      if (this.options.unusable === undefined) await this.apply(stored);
      else this.nameUnusable(stored, this.options.unusable);
      this.looked = true;
      return true;
    });
  }

  private async linked(): Promise<readonly Linked[]> {
    const { kinds, list } = this.deps;
    const ofKind = async (kind: LoginKind) =>
      kind.prefix === undefined ? [] : (await list.stored(kind.prefix)).map((each) => ({ ...each, kind }));
    return (await Promise.all(kinds.map(ofKind))).flat();
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

  private async apply(stored: readonly Linked[]): Promise<void> {
    const known = new Map(stored.map(({ credential, generation }) => [credential, generation]));
    for (const [credential, { generation }] of this.entries) {
      if (generation === undefined) continue;
      const now = known.get(credential);
      // A lower generation: the login was removed and linked again between two reads, so it is
      // another one.
      if (now === undefined || now < generation) {
        await this.remove(credential);
        this.deps.log.info({ credential }, 'a linked login was removed: it is followed no longer');
      }
    }
    for (const { credential, generation, kind } of stored) {
      if (this.over.signal.aborted) return;
      const entry = this.entries.get(credential);
      if (entry === undefined) await this.add(kind, credential, generation);
      else if ((await entry.tokens.isReplaced?.()) === true) {
        await this.remove(credential);
        await this.add(kind, credential, generation);
      } else if (entry.generation !== generation) {
        entry.generation = generation;
        if (entry.tokens.status().state === 'login_required') entry.tokens.retryNow?.();
      }
    }
  }

  private async add(kind: LoginKind, credential: string, generation: number | undefined): Promise<void> {
    const { venue, tokens, reads } = await kind.signIn(credential);
    this.entries.set(credential, { kind, tokens, generation });
    await tokens.start?.();
    const log = this.deps.log.child({ credential });
    kind.connectors.add(credential, { venue, tokens, reads, log });
    if (generation !== undefined) log.info('a linked login is followed');
  }

  private async remove(credential: string): Promise<void> {
    const entry = this.entries.get(credential);
    if (entry === undefined) return;
    this.entries.delete(credential);
    await entry.kind.connectors.remove(credential);
    await entry.tokens.drain?.();
  }

  private publish(): void {
    const all = this.status();
    for (const state of tokenStates)
      this.deps.metrics.credentials.set({ state }, all.filter((credential) => credential.state === state).length);
    const ends = all.flatMap(({ expiresAtMs }) => (expiresAtMs === undefined ? [] : [expiresAtMs]));
    if (ends.length > 0) this.deps.metrics.tokenExpiry.set(Math.min(...ends) / 1000);
  }
}
