import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Tracing } from '../../observability/tracing.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AccountRepairs } from '../../store/account-repairs.ts';
import type { DeadLetterAccess } from '../../store/dead-letters/dead-letter-access.ts';
import type { ReadIfChanged } from '../../store/fleet/changes.ts';
import type { FleetActions } from '../../store/fleet/fleet-actions.ts';
import type { OrderReads } from '../../store/orders/order-reads.ts';
import type { PrincipalStore } from '../../store/principals.ts';
import type { AuditTrail } from '../commands/audit-trail.ts';
import type { Commands } from '../commands/commands.ts';

import type { Authenticator } from './auth/authenticator.ts';
import type { ConsoleSite } from './console/console-site.ts';
import type { DemoPass } from './console/demo-pass.ts';
import type { MadeDocuments } from './documents/asyncapi-document.ts';
import type { Forwarding } from './instances/forwarding.ts';
import type { Pages } from './send-page.ts';
import type { AccountStates, ServiceView } from './service-view.ts';
import type { EventTail } from './stream/event-tail.ts';
import type { StreamHub } from './stream/stream-hub.ts';

/** The service's parts as REST gets them. */
export interface RestParts extends Ambient {
  /** Reads the issuer's keys. */
  readonly fetch: typeof fetch;
  /** The database's wall time, for the ends of its tokens. Left out: that of `clock`. */
  readonly sharedClock?: Clock;
  readonly metrics: Metrics;
  readonly commands: Commands;
  readonly reads: OrderReads;
  /**
   * The same on separate connections. A changing route gets them as its `reads`, so it never waits
   * behind a caller's pages.
   */
  readonly commandReads: OrderReads;
  readonly service: ServiceView;
  readonly deadLetters: DeadLetterAccess;
  /** Operators' wishes about the fleet. */
  readonly fleet: FleetActions;
  /** Account reads that people ask for. */
  readonly repairs: AccountRepairs;
  readonly accountStates: AccountStates;
  readonly forwarding: Forwarding;
  /** Records denied writes, and acts no other part records. */
  readonly auditTrail: Pick<AuditTrail, 'record' | 'drained'>;
  /**
   * The database's tokens, in addition to the configured ones. If it is given, every caller has to
   * sign in, even while it holds no token.
   */
  readonly principals?: PrincipalStore;
  /** Spares their reads. Left out: none. */
  readonly tokenChanges?: ReadIfChanged;
  /** Left out: there is no console, and its addresses do not exist. */
  readonly console?: ConsoleSite;
  /** Only in the demo: the way to "Break it". */
  readonly demo?: DemoPass;
  /** Left out: traces are off. */
  readonly tracing?: Tracing | undefined;
}

/** A route may use the same parts, and those that REST itself adds. */
export interface RouteParts extends RestParts {
  readonly authenticator: Authenticator;
  readonly pages: Pages;
  readonly hub: StreamHub;
  readonly eventTail: EventTail;
  readonly documents: MadeDocuments;
  /** Aborts when the server drains: requests that only wait for news are answered then. */
  readonly draining: AbortSignal;
}
