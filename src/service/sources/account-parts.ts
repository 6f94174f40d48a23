import type { Observation, Outcome } from '../../domain/observation.ts';
import type { Stream } from '../../domain/order.ts';
import type { Log } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { ByteBudget } from '../../runtime/byte-budget.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AccountRecord, AccountRegistry } from '../../store/fleet/account-registry.ts';
import type { OrderReads } from '../../venue/platform/order-reads.ts';
import { AbsentOrders } from './absent-orders.ts';
import { AccountReader } from './account-reader.ts';
import { Audit } from './audit.ts';
import { Doubts } from './doubts.ts';
import type { ObservationSink } from './observation-sink.ts';
import { OrderLooks } from './order-looks.ts';
import { RowIntake } from './row-intake.ts';
import { SilencePace } from './silence-pace.ts';
import { StoreLost } from './store-lost.ts';
import type { StreamTimings } from './stream-timings.ts';
import { Unrecovered } from './unrecovered.ts';
import type { Pace, Window } from './window.ts';

export interface AccountPartsDeps {
  readonly reads: OrderReads;
  readonly registry: AccountRegistry;
  readonly sink: ObservationSink;
  readonly clock: Clock;
  readonly metrics: Metrics['source'];
  readonly log: Log;
  /**
   * Shared by all accounts of the login, as are the next two: for reads that make accounts live,
   * for repeats of failed ones, for looks at doubted orders.
   */
  readonly gate: Window;
  readonly troubledGate: Window;
  readonly doubtPace: Pace;
  /** Shared by all accounts of the process, as is the room for notes. */
  readonly auditGate: Window;
  readonly budget: ByteBudget;
}

interface AccountPartsOptions {
  readonly stream: Stream;
  readonly timings: StreamTimings;
  /** The life of the account's session. */
  readonly signal: AbortSignal;
  /** Gets every order before its version is used. True: the order is not offered. */
  readonly guard: (observation: Observation) => boolean;
}

/**
 * The parts that bring the orders of one account on one stream, joined: one way into ingest, one
 * reader of its lists, looks at single orders, and the parts that ask for them.
 */
export class AccountParts {
  readonly intake: RowIntake;
  readonly looks: OrderLooks;
  readonly unrecovered: Unrecovered;
  readonly absent: AbsentOrders;
  readonly doubts: Doubts;
  readonly reader: AccountReader;
  readonly audit: Audit;
  readonly storeLost: StoreLost;

  constructor(deps: AccountPartsDeps, options: AccountPartsOptions, record: AccountRecord) {
    const { stream, timings, signal, guard } = options;
    const { accountId, sourceEpoch } = record;
    const about = { stream, accountId };
    const intake = new RowIntake(
      {
        ...deps,
        guard,
        onDoubt: (observation, doubt) => this.doubts.raise(observation, doubt),
        onOrder: (orderId) => this.absent.seen(orderId),
      },
      { ...about, sourceEpoch },
    );
    const looks = new OrderLooks({ ...deps, intake }, { ...about, signal });
    const unrecovered = new Unrecovered({ ...deps, looks }, { signal });
    const absent = new AbsentOrders({ ...deps, intake }, { ...about, signal });
    const doubts = new Doubts({ ...deps, intake, looks }, { signal, about });
    const silencePace = new SilencePace(deps, timings);
    const onAudited = (observation: Observation, outcome: Outcome) => this.audit.judge(observation, outcome);
    const reader = new AccountReader(
      { ...deps, intake, looks, unrecovered, absent, silencePace, doubts },
      { stream, timings, onAudited },
      record,
    );
    this.intake = intake;
    this.looks = looks;
    this.unrecovered = unrecovered;
    this.absent = absent;
    this.doubts = doubts;
    this.reader = reader;
    this.audit = new Audit({ ...deps, reader, silencePace }, { about, source: stream, signal });
    this.storeLost = new StoreLost({ ...deps, reader, intake }, { signal });
  }
}
