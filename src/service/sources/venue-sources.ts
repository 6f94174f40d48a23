import type { Stream } from '../../domain/order.ts';
import type { AccountAccess, AccountStanding, FollowedAccounts } from './account-access.ts';
import type { Unfollowed } from './accounts-follower.ts';
import type { Connectors, LoginSource } from './connectors.ts';
import type { ConnectionReading } from './source-status.ts';

/** The sources of all venues, as one. Two venues may have accounts of one name. */
export class VenueSources implements FollowedAccounts {
  private readonly venues: readonly Connectors[];
  private readonly all: readonly Connectors[];

  /**
   * `left`: without a login, for the streams of no followed venue. It names the accounts that the
   * database has there: their orders are old.
   */
  constructor(venues: readonly Connectors[], left: Connectors) {
    this.venues = venues;
    this.all = [...venues, left];
  }

  /** The lane is ours. */
  async begin(): Promise<void> {
    await Promise.all(this.all.map((venue) => venue.begin()));
  }

  /** The lane is lost, or about to be given back. */
  async end(): Promise<void> {
    await Promise.all(this.all.map((venue) => venue.end()));
  }

  review(): void {
    for (const venue of this.all) venue.review();
  }

  openIdle(): void {
    for (const venue of this.venues) venue.openIdle();
  }

  get streams(): readonly Stream[] {
    return this.venues.flatMap(({ streams }) => streams);
  }

  get hasListed(): boolean {
    return this.venues.every(({ hasListed }) => hasListed);
  }

  get unlisted(): readonly Stream[] {
    return this.venues.flatMap(({ unlisted }) => unlisted);
  }

  get unfollowed(): readonly Unfollowed[] {
    return this.all.flatMap(({ unfollowed }) => unfollowed);
  }

  account(stream: Stream, accountId: string): AccountAccess | undefined {
    return this.of(stream)?.account(stream, accountId);
  }

  standing(stream: Stream, accountId: string): AccountStanding | undefined {
    return this.of(stream)?.standing(stream, accountId);
  }

  connections(): readonly ConnectionReading[] {
    return this.venues.flatMap((venue) => venue.connections());
  }

  status(): readonly LoginSource[] {
    return this.venues.flatMap((venue) => venue.status());
  }

  private of(stream: Stream): Connectors | undefined {
    return this.venues.find(({ streams }) => streams.includes(stream));
  }
}
