import type { Stream } from '../domain/order.ts';
import type { OrderReads, Page } from '../platform/order-reads.ts';
import type { PlatformError } from '../platform/platform-error.ts';
import type { AccountRegistry, OpenOrder } from '../store/account-registry.ts';
import type { AbsentOrders } from './absent-orders.ts';
import { concernsWholeAccount } from './account-access.ts';
import type { ObservationSink } from './observation-sink.ts';
import type { OrderLooks } from './order-looks.ts';
import type { ReadProgress } from './read-progress.ts';
import type { TakenRow } from './row-intake.ts';
import type { SilencePace } from './silence-pace.ts';

interface AskDeps {
  readonly reads: OrderReads;
  readonly registry: AccountRegistry;
  readonly sink: ObservationSink;
  readonly looks: OrderLooks;
  readonly absent: AbsentOrders;
  readonly silencePace: SilencePace;
  /** Takes a page of a list, as the read itself does. */
  readonly page: (page: Page) => Promise<void>;
  /** Called with the result of each single order, as the read itself is for the rows of its pages. */
  readonly taken: (item: TakenRow) => void;
}

type SilentOrder = Pick<OpenOrder, 'orderId' | 'sourceEpoch'>;

const pageSize = 500;
const atOnce = 4;
/** With more silent orders than this, one list of the open ones is cheaper: it answers for 500 a request, and only the orders that it does not show are left. */
const listAbove = 50;

/**
 * Orders that we hold open, that were not written since the read began and that it did not show: each is looked at, so that a lost terminal frame is found.
 * The answer "no such order" proves nothing and changes nothing; orders that had it lately are left out. Most audits ask only for those that had it some time ago
 * (`SilencePace`). Returns the error that left the read incomplete, if any.
 */
export async function askAfterSilent(
  deps: AskDeps,
  stream: Stream,
  accountId: string,
  progress: ReadProgress,
): Promise<PlatformError | undefined> {
  let silent = progress.asksSilent ? await silentOrders(deps, stream, accountId, progress) : deps.absent.due();
  if (silent.length > listAbove && progress.kind !== 'complete' && progress.asksSilent) {
    const list = await deps.reads.listOrders({ stream, accountId, state: 'open' }, deps.page, progress.signal, progress.budget);
    if (!list.complete) return list.error;
    await deps.sink.settled();
    silent = silent.filter(({ orderId }) => !progress.shownOpen.has(orderId));
  }
  return silent.length === 0 ? undefined : lookAtEach(deps, silent, progress);
}

async function silentOrders(deps: AskDeps, stream: Stream, accountId: string, progress: ReadProgress): Promise<SilentOrder[]> {
  const silent: SilentOrder[] = [];
  let after = '';
  for (;;) {
    const open = await deps.registry.openOrders(stream, accountId, progress.startedMs, after, pageSize);
    for (const order of open) if (!progress.shownOpen.has(order.orderId) && deps.absent.isDue(order.orderId)) silent.push(order);
    const last = open.at(-1);
    if (last === undefined || open.length < pageSize || progress.signal.aborted) return silent;
    after = last.orderId;
  }
}

async function lookAtEach(
  { looks, taken, absent, silencePace }: AskDeps,
  orders: readonly SilentOrder[],
  { kind, signal, cause, budget, unread, onOutcome }: ReadProgress,
): Promise<PlatformError | undefined> {
  const rest = orders.values();
  const unknown: SilentOrder[] = [];
  let failure: PlatformError | undefined;
  const worker = async () => {
    for (const order of rest) {
      if (signal.aborted || failure !== undefined) return;
      const { orderId } = order;
      const wish = { rank: 'silent', cause, signal, budget, opensEpoch: kind === 'complete', onOutcome } as const;
      const look = await looks.lookAt(orderId, wish);
      // A failure for good (400, for example) proves nothing about the other orders and would keep the account from ever being live: it is treated like "no
      // such order".
      if (look.kind === 'failed' && (look.error.retryable || concernsWholeAccount(look.error))) failure = look.error;
      if (look.kind === 'absent') unknown.push(order);
      if (look.kind === 'found') taken(look.item);
      if (look.kind === 'unclear') unread.add(orderId);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (!absent.note(unknown)) silencePace.beginAnew();
  return failure;
}
