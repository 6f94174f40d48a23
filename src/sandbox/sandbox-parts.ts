import type { Ambient } from '../observability/ambient.ts';
import type { AccessTokens } from './auth/access-tokens.ts';
import type { AuthorizationCodes } from './auth/authorization-codes.ts';
import type { Directory } from './auth/directory.ts';
import type { RefreshTokens } from './auth/refresh-tokens.ts';
import type { SignIns } from './auth/sign-ins.ts';
import type { DayPrices } from './data/day-prices.ts';
import type { EntryDeps } from './entry/write.ts';
import type { Exchange } from './exchange/exchange.ts';
import type { VenueWords } from './exchange/venue-words.ts';
import type { Concealments, HangingSockets } from './faults/concealments.ts';
import type { FaultPlan } from './faults/fault-plan.ts';
import type { Wire } from './faults/wire-words.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { SandboxOptions } from './sandbox-options.ts';
import type { EventFaults } from './stream/event-faults.ts';
import type { Subscriptions } from './stream/stream-session.ts';
import type { UserRecords } from './users/user-records.ts';

/** The parts that one sandbox's listeners share. */
export interface SandboxParts extends Pick<Ambient, 'clock' | 'log'> {
  readonly exchange: Exchange;
  readonly directory: Directory;
  readonly tokens: AccessTokens;
  readonly codes: AuthorizationCodes;
  readonly refreshTokens: RefreshTokens;
  readonly signIns: SignIns;
  readonly users: UserRecords;
  /** Of the data endpoints: the market's own prices, and all else made from the seed. */
  readonly data: { readonly prices: DayPrices; readonly seed: number } & SandboxOptions['research'];
  readonly ledger: Ledger;
  readonly faults: FaultPlan;
  readonly eventFaults: EventFaults;
  readonly subscriptions: Subscriptions;
  readonly hanging: HangingSockets;
  readonly concealments: Concealments;
  readonly wire: Wire;
  readonly words: VenueWords;
  readonly entry: EntryDeps;
}
