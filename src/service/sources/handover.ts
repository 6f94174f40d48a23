import { earlierOf, laterOf, type Moment } from '../../runtime/clock.ts';
import type { Connection } from './connection.ts';

/**
 * The connections that the present one of an account took over from, one after the other, each
 * until its end: the next may be replaced before the one before it has ended.
 *
 * Invariant: `upTo` passes nothing that one of them may have lost. The goodbye
 * of a connection proves that it covered the time until its end, but only
 * where everything before it is proven as well.
 */
export class Handover {
  /** Oldest first. */
  private readonly replaced = new Set<Connection>();
  /** What those had proven that said goodbye. */
  private proven: Moment | undefined;

  get isProven(): boolean {
    return this.replaced.size === 0;
  }

  get connections(): readonly Connection[] {
    return [...this.replaced];
  }

  takeOver(from: readonly Connection[]): void {
    for (const connection of from) this.replaced.add(connection);
  }

  has(connection: Connection): boolean {
    return this.replaced.has(connection);
  }

  ended(connection: Connection, goodbye: boolean): void {
    const [oldest] = this.replaced;
    if (goodbye && oldest === connection)
      this.proven = laterOf(connection.readUpTo, this.proven ?? connection.readUpTo);
    this.replaced.delete(connection);
  }

  clear(): void {
    this.replaced.clear();
    this.proven = undefined;
  }

  /** Up to here nothing is missing. `present`: what the pings of the present connection prove. */
  upTo(present: Moment): Moment {
    const unproven = [...this.replaced].map(({ readUpTo }) => readUpTo);
    return unproven.length > 0 ? unproven.reduce(earlierOf) : laterOf(present, this.proven ?? present);
  }
}
