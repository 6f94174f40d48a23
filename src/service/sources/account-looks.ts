import type { Observation } from '../../domain/observation.ts';
import { isTerminal, type OrderView, type Stream } from '../../domain/order.ts';
import { clientReferenceOf } from '../../domain/order-fields.ts';
import type { Clock } from '../../runtime/clock.ts';
import { abortWith, unlessAborted } from '../../runtime/waiting.ts';
import type { ListRequest, OrderReads, Page, ReadBudget } from '../../venue/order-reads.ts';
import { referenceOf as ownReferenceOf } from '../orders/load-known.ts';
import {
  type AccountAccess,
  type AccountLook,
  givenUp,
  incomplete,
  type LookSince,
  notCommitted,
  storeIsLost,
  type UnnamedOrder,
  unclear,
} from './account-access.ts';
import type { AccountReader } from './account-reader.ts';
import { type ObservationSink, roomIn } from './observation-sink.ts';
import type { OrderLooks } from './order-looks.ts';
import type { RowIntake, TakenRow } from './row-intake.ts';

interface AccountLooksDeps {
  readonly reads: OrderReads;
  readonly reader: AccountReader;
  readonly looks: OrderLooks;
  readonly intake: RowIntake;
  readonly sink: ObservationSink;
  readonly clock: Clock;
}

interface AccountLooksOptions {
  readonly stream: Stream;
  readonly accountId: string;
  /** The life of the account's session. */
  readonly signal: AbortSignal;
  readonly standing: () => Pick<AccountAccess, 'live' | 'certain' | 'isSim' | 'notEnrolled'>;
}

/** What to list, and how to tell the rows we mean. */
type ListLook = [
  request: Pick<ListRequest, 'state' | 'reference'>,
  shows: (view: OrderView) => boolean,
  signal: AbortSignal,
  budget: ReadBudget | undefined,
];

/**
 * Looks at one account for other rooms, through its one reader and its one way into ingest, so the
 * checks on the rows of audits apply to them too: foreign accounts, lost stores, rows that cannot
 * be read. While the platform's store is lost every look fails: neither the orders it shows nor
 * those it lacks mean anything.
 */
export class AccountLooks implements AccountAccess {
  private readonly deps: AccountLooksDeps;
  private readonly options: AccountLooksOptions;

  constructor(deps: AccountLooksDeps, options: AccountLooksOptions) {
    this.deps = deps;
    this.options = options;
  }

  get live(): boolean {
    return this.options.standing().live;
  }

  get certain(): boolean {
    return this.options.standing().certain;
  }

  get isSim(): boolean {
    return this.options.standing().isSim;
  }

  get notEnrolled(): boolean {
    return this.options.standing().notEnrolled;
  }

  lookFor(reference: string, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook> {
    // Ours in capitals too, as ingest binds it.
    const isOurs = (view: OrderView) => clientReferenceOf(view) === reference || ownReferenceOf(view) === reference;
    return this.lookInList({ state: 'all', reference }, isOurs, signal, budget);
  }

  lookAtOpen(signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook> {
    return this.lookInList({ state: 'open' }, ({ status }) => !isTerminal(status), signal, budget);
  }

  private async lookInList(...[request, shows, signal, budget]: ListLook): Promise<AccountLook> {
    using either = abortWith(signal, this.options.signal);
    if (either.signal.aborted) return incomplete(givenUp);
    if (this.deps.intake.suspended) return incomplete(storeIsLost);
    return await orGivenUp(this.listed(request, shows, either.signal, budget), either.signal);
  }

  async lookAt(orderId: string, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook> {
    const look = await this.deps.looks.lookAt(orderId, { question: 'command', signal, budget });
    if (look.kind === 'failed') return incomplete(look.error);
    if (look.kind === 'unclear') return incomplete(unclear);
    const { startedMs: startedAtMs } = look;
    if (look.kind === 'absent') return { complete: true, startedAtMs, shown: [], certain: this.certain };
    const certain = look.item.view.certainty === 'certain' && this.certain;
    const working = isTerminal(look.item.view.status) ? [] : [orderId];
    return { complete: true, startedAtMs, shown: [orderId], working, certain };
  }

  async lookAtAll(since: LookSince | undefined, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook> {
    if (this.deps.intake.suspended) return incomplete(storeIsLost);
    using either = abortWith(signal, this.options.signal);
    const read = async (): Promise<AccountLook> => {
      const result = await this.deps.reader.read('probe', either.signal, since, budget);
      if (!result.complete) return result;
      const { startedMs: startedAtMs, shown, working, uncertain } = result;
      const certain = result.certain && this.certain;
      return { complete: true, startedAtMs, shown, working, certain, ...(this.certain && { uncertain }) };
    };
    return await orGivenUp(read(), either.signal);
  }

  expectReply(): (row: unknown, unnamed?: UnnamedOrder) => void {
    const { intake, clock } = this.deps;
    const storeMark = intake.mark;
    return (row, unnamed) => {
      if (intake.suspended || intake.mark !== storeMark || this.options.signal.aborted) return;
      if (unnamed !== undefined) intake.expectOwn(unnamed);
      if (row === undefined) {
        if (unnamed !== undefined) void this.lookAt(unnamed.orderId, this.options.signal);
        return;
      }
      const text = JSON.stringify(row);
      const receivedMs = clock.monotonicMs();
      intake.takeRow(row, { cause: 'reply', urgent: true, receivedMs, bytes: text.length, raw: () => text, storeMark });
    };
  }

  /**
   * The filtered list. A platform without the filter brings the whole account: other orders are
   * taken, and not shown.
   */
  private async listed(...[request, shows, signal, budget]: ListLook): Promise<AccountLook> {
    const { reads, intake, sink, clock } = this.deps;
    const { stream, accountId } = this.options;
    const startedAtMs = clock.nowMs();
    const storeMark = intake.mark;
    const items: TakenRow[] = [];
    const reused = new Set<string>();
    const onDoubt: Observation['onDoubt'] = ({ view }, doubt) => {
      if (doubt === 'reused' || doubt === 'reused_late') reused.add(view.orderId);
    };
    const onPage = async ({ rows, bytes }: Page) => {
      const receivedMs = clock.monotonicMs();
      const rowBytes = Math.ceil(bytes / rows.length);
      for (const row of rows) {
        const raw = () => JSON.stringify(row);
        const source = { cause: 'probe', urgent: true, receivedMs, storeMark, bytes: rowBytes, raw, onDoubt } as const;
        items.push(intake.takeRow(row, source));
      }
      await roomIn(sink, signal);
    };
    try {
      const list = await reads.listOrders({ stream, accountId, ...request }, onPage, signal, budget);
      if (!list.complete) return incomplete(list.error);
      await sink.committed();
    } catch (error) {
      return incomplete(notCommitted(error));
    }
    const views = items.flatMap((item) => (item.kind === 'order' ? [item.view] : []));
    // A row we could not read, did not own, or withheld may be the one we look for.
    if (views.length < items.length) return incomplete(unclear);
    const certain = this.certain && views.every(({ certainty }) => certainty === 'certain');
    const shown = views.filter(shows).map(({ orderId }) => orderId);
    return { complete: true, startedAtMs, shown, certain, ...(reused.size > 0 && { reused }) };
  }
}

/** An answer may take as long as a whole account. A caller who gives up gets its answer at once. */
function orGivenUp(work: Promise<AccountLook>, signal: AbortSignal): Promise<AccountLook> {
  return unlessAborted(work, signal).catch((error: unknown) => {
    if (signal.aborted) return incomplete(givenUp);
    throw error;
  });
}
