import { earlierOf, laterOf, type Moment } from '../../runtime/clock.ts';
import type { Connection } from './connection.ts';

/**
 * What covers one account: the connection which acknowledged its subscription, and those it took
 * over from, one after the other, each until its end. The next may be replaced before the one
 * before it has ended.
 *
 * Invariant: `upTo` passes nothing any connection may have lost. A goodbye proves the time until
 * its connection's end, but only if everything before is proven as well. A half open connection
 * says none.
 */
export class Cover {
  private present: Connection;
  /** Oldest first. */
  private readonly replaced: Set<Connection>;
  /** What those had proven that said goodbye. */
  private proven: Moment | undefined;
  private readonly life = new AbortController();

  constructor(connection: Connection, replaced: Iterable<Connection> = []) {
    this.present = connection;
    this.replaced = new Set(replaced);
  }

  get connection(): Connection {
    return this.present;
  }

  /**
   * Aborts when it ends: reads that should make the account live,
   * and audits, prove nothing then.
   */
  get signal(): AbortSignal {
    return this.life.signal;
  }

  end(): void {
    this.life.abort();
  }

  /** Of the same connections, from now on: nothing is proven by what went before. */
  anew(): Cover {
    return new Cover(this.present, this.replaced);
  }

  /**
   * Make before break: the connection before delivers until after the newer one is acknowledged, so
   * nothing is missed between the two. Its goodbye will prove it.
   */
  takeOver(by: Connection): void {
    this.replaced.add(this.present);
    this.present = by;
  }

  /** Every connection that was replaced has ended. */
  get isProven(): boolean {
    return this.replaced.size === 0;
  }

  hasReplaced(connection: Connection): boolean {
    return this.replaced.has(connection);
  }

  replacedEnded(connection: Connection, goodbye: boolean): void {
    const [oldest] = this.replaced;
    if (goodbye && oldest === connection)
      this.proven = laterOf(connection.readUpTo, this.proven ?? connection.readUpTo);
    this.replaced.delete(connection);
  }

  /**
   * Up to here nothing is missing: as far as the present connection's pings prove, or the least any
   * connection without a goodbye proves.
   */
  get upTo(): Moment {
    const unproven = [...this.replaced].map(({ readUpTo }) => readUpTo);
    const { readUpTo } = this.present;
    return unproven.length > 0 ? unproven.reduce(earlierOf) : laterOf(readUpTo, this.proven ?? readUpTo);
  }
}
