import { compareInstants, formatInstant, msOf } from '../../domain/instant.ts';
import type { Stream } from '../../domain/order.ts';
import { listedAt, traits } from '../../domain/streams.ts';
import type { Clock } from '../../runtime/clock.ts';
import { inParallel } from '../../runtime/waiting.ts';
import type { AccountRegistry, OpenOrder } from '../../store/fleet/account-registry.ts';
import type { OrderReads, Page } from '../../venue/order-reads.ts';
import type { PlatformError } from '../../venue/platform-error.ts';
import type { AbsentOrders } from './absent-orders.ts';
import { concernsWholeAccount } from './account-access.ts';
import type { ObservationSink } from './observation-sink.ts';
import { errorBeside, type OrderLooks } from './order-looks.ts';
import type { ReadProgress } from './read-progress.ts';
import type { TakenRow } from './row-intake.ts';
import type { SilencePace } from './silence-pace.ts';

interface AskDeps {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly reads: OrderReads;
  readonly registry: AccountRegistry;
  readonly sink: ObservationSink;
  readonly looks: OrderLooks;
  readonly absent: AbsentOrders;
  readonly silencePace: SilencePace;
  /** Takes a page of a list, as the read itself does. */
  readonly page: (page: Page) => Promise<void>;
  /** Called with each single order's result, as the read itself is for its pages. */
  readonly taken: (item: TakenRow) => void;
  /** Called with each touched order missing in its answer. */
  readonly notShown: (orderId: string) => void;
}

type SilentOrder = Pick<OpenOrder, 'orderId' | 'sourceEpoch'>;
/** Without an instant: it is not known here. `isTouched`: we need not hold it open. */
type Found = SilentOrder & Partial<OpenOrder> & { readonly isTouched?: true };

const pageSize = 500;
const atOnce = 4;
/**
 * With more silent orders than this, one list with all open ones is quicker, and fewer requests: it
 * answers for 500, and leaves only those it does not show. Fifty looks, four at once, took 1.2 s
 * while an account was dark for 2.3 s, at 500 changes a second on two cores; the list takes 0.1 s.
 * By creation, a list of all orders since theirs has them, but for the oldest ones: a single order
 * from last year would make that list long.
 */
const listAbove = 8;
/**
 * Touched orders unknown here, in one read: no list is known to have them. A venue may name
 * thousands, and takes 200 requests a minute.
 */
const mostUnknown = 50;
/** Each takes the time of all its repeats. */
const mostUnanswered = 3;

/**
 * Waits until the read's rows are committed. Then it asks for silent orders: we hold them open,
 * nothing wrote them since the read began, and it did not show them. So a lost terminal frame is
 * found, and by the touched orders (`findTouched`) a lost frame of an ended order. The answer "no
 * such order" proves nothing and changes nothing; orders with a recent one are left out. Most
 * audits ask only for those whose answer is older (`SilencePace`). Returns the error if the read
 * stays incomplete. Rejects when the rows can't be committed.
 */
export async function askAfterSilent(
  deps: AskDeps,
  stream: Stream,
  accountId: string,
  progress: ReadProgress,
): Promise<PlatformError | undefined> {
  const silentOrders = async (most?: number): Promise<Found[]> => {
    const silent = await findSilent(deps, { stream, accountId, most }, progress);
    const isNew = new Set(silent.map(({ orderId }) => orderId));
    const touched = await findTouched(deps, stream, progress);
    return [...silent, ...touched.filter(({ orderId }) => !isNew.has(orderId))];
  };
  const listOpen = () =>
    deps.reads.listOrders({ stream, accountId, state: 'open' }, deps.page, progress.signal, progress.budget);
  const listSince = (after: string) =>
    deps.reads.listOrders(
      { stream, accountId, state: 'all', after: formatInstant(msOf(after) - 1_000) },
      deps.page,
      progress.signal,
      progress.budget,
    );
  const byChange = traits[stream].lists === 'by_change';
  // Before the rows are committed, so both lists wait together. An order shown as ended by the
  // first list still counts: one list too many at worst.
  if (progress.asksSilent && progress.kind !== 'complete') {
    const silent = await silentOrders(byChange ? listAbove + 1 : undefined);
    const created = silent.flatMap(({ updatedAt, ...order }) =>
      updatedAt === undefined ? [] : [listedAt({ stream, ...order, updatedAt })],
    );
    created.sort(compareInstants);
    const oldest = created[listAbove];
    const list = oldest === undefined ? undefined : await (byChange ? listOpen() : listSince(oldest));
    if (list?.complete === false) return list.error;
  }
  await deps.sink.committed();
  const unanswered = new Set<string>();
  for (;;) {
    const silent = progress.asksSilent ? await silentOrders() : deps.absent.due();
    const asked = silent.filter(({ orderId }) => !unanswered.has(orderId));
    const failed = asked.length === 0 ? undefined : await lookAtEach(deps, asked, progress);
    if (failed === undefined) return undefined;
    const { orderId, error } = failed;
    if (concernsWholeAccount(error) || progress.signal.aborted || unanswered.size >= mostUnanswered) return error;
    // One order that the platform can't show must not keep its account from ever being live: the
    // platform answers for the others.
    const list = await listOpen();
    if (!list.complete) return list.error;
    await deps.sink.committed();
    unanswered.add(orderId);
    progress.unread.add(orderId);
  }
}

/** At least `most` of them, if there are as many. */
async function findSilent(
  { clock, registry, absent }: AskDeps,
  {
    stream,
    accountId,
    most = Number.POSITIVE_INFINITY,
  }: { stream: Stream; accountId: string; most: number | undefined },
  { beganMs, shownOpen, signal }: ReadProgress,
): Promise<OpenOrder[]> {
  const silent: OpenOrder[] = [];
  let after = '';
  for (;;) {
    const open = await registry.openOrders(stream, accountId, clock.monotonicMs() - beganMs, after, pageSize);
    for (const order of open) if (!shownOpen.has(order.orderId) && absent.isDue(order.orderId)) silent.push(order);
    const last = open.at(-1);
    if (last === undefined || open.length < pageSize || silent.length >= most || signal.aborted) return silent;
    after = last.orderId;
  }
}

/**
 * Those of the touched orders that may be older here: they are not known, were changed before that,
 * or have another quantity filled. A late fill may be of before the end that is shown here.
 */
async function findTouched({ registry }: AskDeps, stream: Stream, progress: ReadProgress): Promise<Found[]> {
  const { touched } = progress;
  const older: Found[] = [];
  const unknown: Found[] = [];
  const rest = [...touched.values()];
  while (rest.length > 0) {
    const some = rest.splice(0, pageSize);
    const named = await registry.ordersNamed(
      stream,
      some.map(({ orderId }) => orderId),
    );
    const known = new Map(named.map((order) => [order.orderId, order]));
    for (const { orderId, at, cumQty } of some) {
      const order = known.get(orderId);
      const isSame = cumQty === undefined || order?.cumQty === cumQty;
      if (order === undefined) unknown.push({ orderId, isTouched: true });
      else if (!isSame || compareInstants(order.updatedAt, at) < 0) older.push({ ...order, isTouched: true });
    }
  }
  progress.isTouchedLeft = unknown.length > mostUnknown;
  return [...older, ...unknown.slice(0, mostUnknown)];
}

async function lookAtEach(
  { looks, taken, notShown, absent, silencePace }: AskDeps,
  orders: readonly Found[],
  { kind, signal, cause, budget, unread, onResult }: ReadProgress,
): Promise<{ readonly orderId: string; readonly error: PlatformError } | undefined> {
  const unknown: SilentOrder[] = [];
  let failure: { readonly orderId: string; readonly error: PlatformError } | undefined;
  await inParallel(orders, atOnce, async (order) => {
    if (signal.aborted || failure !== undefined) return;
    const { orderId } = order;
    const wish = { question: 'silent', cause, signal, budget, opensEpoch: kind === 'complete', onResult } as const;
    const look = await looks.lookAt(orderId, wish);
    // A failure for good (400, for example) proves nothing about the other orders and would keep
    // the account from ever being live: it is treated like "no such order".
    const error = errorBeside(look);
    if (error !== undefined) failure = { orderId, error };
    else if (order.isTouched && look.kind !== 'found') notShown(orderId);
    else if (look.kind === 'absent') unknown.push(order);
    if (look.kind === 'found') taken(look.item);
    if (look.kind === 'unclear') unread.add(orderId);
  });
  if (!absent.note(unknown)) silencePace.beginAnew();
  return failure;
}
