import { orderKey, type Stream } from '../../../domain/order.ts';
import { present } from '../../../domain/present.ts';
import { isSelected, type Selectable } from '../../../domain/select-orders.ts';
import type {
  NewCancelAll,
  OpenOrder,
  OrderOfAccount,
  UnreadAccount,
} from '../../../store/commands/cancel-all-journal.ts';
import type { ReadBudget } from '../../../venue/order-reads.ts';
import type { CompleteLook } from '../../sources/account-access.ts';
import type { Window } from '../../sources/window.ts';
import { runProbe } from '../account-reads.ts';
import type { Answer, Declined } from '../answer.ts';
import { hasLogin } from '../check-submission.ts';
import type { CommandParts } from '../command-parts.ts';
import type { CancelAllScope } from '../commands.ts';
import type { PlaceUnderWay } from '../places-under-way.ts';

export interface ListDeps extends Pick<CommandParts, 'journal' | 'accounts' | 'clock' | 'placesUnderWay'> {
  /** Bounds the reads all the process's cancel-alls make side by side. */
  readonly listWindow: Window;
  /** Why the account may not be traded on either stream. */
  readonly objection: (accountId: string) => Declined | undefined;
}

interface ListLimits {
  /** For all reads together. It is short, because no cancel leaves before they end. */
  readonly cancelAllReadMs: number;
  readonly over: AbortSignal;
}

type CancelAllList = Pick<NewCancelAll, 'orders' | 'places' | 'unread' | 'declined'>;

const pageSize = 500;
/** Requests kept for its cancels serve its reads too, where a venue's are used up. */
const budget: ReadBudget = { purpose: 'cancel', mayRepeat: () => true };

/**
 * Lists everything a cancel-all has to cover. The platform's open orders are read first: a stream
 * may have lost an order, or we may believe one ended although it lives there. Then come the places
 * without a known order, and the open orders, ours and the platform's. A place that was asked for
 * before, and is being connected or journaled, is waited for: no list shows it. `scope.only`
 * selects among both. Where the platform shows another order under an id than the stored one, what
 * is stored selects nothing: it is cancelled where all orders are, and else named as unread. For
 * the whole service, accounts closed to trading are listed separately. Rejects when the journal
 * can't be read.
 */
export async function listCancelAll(
  deps: ListDeps,
  scope: CancelAllScope,
  limits: ListLimits,
): Promise<Answer<CancelAllList>> {
  const { journal, objection } = deps;
  const declined: CancelAllList['declined'][number][] = [];
  const accountIds: string[] = [];
  for (const accountId of scope.kind === 'account' ? [scope.accountId] : scope.accountIds) {
    const objected = objection(accountId);
    if (objected !== undefined && scope.kind === 'account') return objected;
    // While the accounts are not listed, its orders are covered, and it counts as unread.
    if (objected === undefined || objected.code === 'SOURCE_NOT_LIVE') accountIds.push(accountId);
    else declined.push({ accountId, code: objected.code, message: objected.message });
  }
  const untilMs = deps.clock.monotonicMs() + limits.cancelAllReadMs;
  const underWay = deps.placesUnderWay.of(new Set(accountIds));
  const { unread, shown } = await readAccounts(deps, accountIds, untilMs, limits.over);
  unread.push(...(await awaitPlaces(deps, underWay, untilMs)));
  // In this order, a place that lands between the two reads is on both lists.
  // The other way round it would be on neither.
  const unseen = await journal.unseenPlaces(accountIds);
  const places = unseen
    .filter((place) => isSelected(place, scope.only))
    .map(({ accountId, stream, commandId }) => ({ accountId, stream, commandId }));
  const orders: OrderOfAccount[] = [];
  for (const accountId of accountIds) {
    const theirs = new Map((shown.get(accountId) ?? []).map((order) => [orderKey(order.stream, order.orderId), order]));
    const take = (order: OpenOrder & Selectable, ended?: true) => {
      const { stream, orderId } = order;
      const shown = theirs.get(orderKey(stream, orderId));
      theirs.delete(orderKey(stream, orderId));
      if (shown?.reused !== true) {
        const { incarnation } = order;
        if (isSelected(order, scope.only)) orders.push(present({ accountId, stream, orderId, incarnation, ended }));
      } else if (scope.only === undefined) orders.push({ accountId, stream, orderId, asShown: true });
      else unread.push({ accountId, stream, code: 'UNCERTAIN', message: anotherOrder(orderId) });
    };
    for await (const order of openOrders(journal, accountId)) take(order);
    for (const order of await journal.namedOrders(accountId, [...theirs.values()])) take(order, true);
    for (const { stream, orderId } of theirs.values())
      unread.push({
        accountId,
        stream,
        code: 'NOT_READ',
        message: `the platform shows ${orderId} as open, and it is not stored`,
      });
  }
  return { orders, places, unread, declined };
}

interface Shown extends OpenOrder {
  /** It seems to be another order than the stored one. */
  readonly reused: boolean;
}

function anotherOrder(orderId: string): string {
  return `the platform shows another order as ${orderId} than the stored one: what it is selected by is not known yet`;
}

/**
 * Reads every account's open orders on every followed stream, by the platform's own lists.
 * `unread`: these accounts may have unknown open orders. `shown`: by account. Never rejects.
 */
async function readAccounts(
  deps: ListDeps,
  accountIds: readonly string[],
  untilMs: number,
  over: AbortSignal,
): Promise<{ unread: UnreadAccount[]; shown: Map<string, Shown[]> }> {
  const unread: UnreadAccount[] = [];
  const shown = new Map<string, Shown[]>();
  const all = accountIds.flatMap((accountId) => deps.accounts.streams.map((stream) => ({ accountId, stream })));
  const read = async ({ accountId, stream }: (typeof all)[number]) => {
    const leftMs = untilMs - deps.clock.monotonicMs();
    const { why, ids, reused } = await readAccount(deps, stream, accountId, leftMs, over);
    if (why !== undefined) unread.push({ accountId, stream, ...why });
    shown.set(accountId, [
      ...(shown.get(accountId) ?? []),
      ...ids.map((orderId) => ({ stream, orderId, reused: reused?.has(orderId) === true })),
    ]);
  };
  await Promise.all(all.map((each) => deps.listWindow.run(() => read(each))));
  unread.sort((a, b) => (`${a.accountId} ${a.stream}` < `${b.accountId} ${b.stream}` ? -1 : 1));
  return { unread, shown };
}

/**
 * Waits for places under way, and tells which accounts have one that is not over by `untilMs`: it
 * may still be sent, and no list shows it. Never rejects.
 */
async function awaitPlaces(
  { clock }: Pick<ListDeps, 'clock'>,
  places: readonly PlaceUnderWay[],
  untilMs: number,
): Promise<UnreadAccount[]> {
  const left = new Set(places);
  const waited = new AbortController();
  const allOver = Promise.all(places.map((place) => place.over.then(() => left.delete(place))));
  await Promise.race([allOver, clock.sleep(Math.max(1, untilMs - clock.monotonicMs()), waited.signal)]);
  waited.abort();
  const message = 'a place that was asked for before is not in the journal yet: it may still be sent';
  const unread = [...left].map(({ accountId, stream }) => ({ accountId, stream, code: 'NOT_READ' as const, message }));
  return [...new Map(unread.map((each) => [`${each.stream}:${each.accountId}`, each])).values()];
}

interface OpenIds {
  readonly ids: readonly string[];
  readonly reused?: CompleteLook['reused'] | undefined;
  readonly why?: Pick<UnreadAccount, 'code' | 'message'>;
}

/** The platform's open orders, and why the account may have unknown ones, if so. */
async function readAccount(
  { accounts, clock }: ListDeps,
  stream: Stream,
  accountId: string,
  leftMs: number,
  stop: AbortSignal,
): Promise<OpenIds> {
  const account = accounts.account(stream, accountId);
  if (account === undefined) {
    const listed = accounts.hasListed && hasLogin({ accounts }, accountId);
    const message = accounts.hasListed ? 'no login follows the account' : 'the accounts have not been listed yet';
    return { ids: [], ...(!listed && { why: { code: 'NOT_LIVE', message } }) };
  }
  const { live } = account;
  const look = await runProbe(clock, Math.max(1, leftMs), stop, (signal) => account.lookAtOpen(signal, budget));
  if (!look.complete) {
    // Known as such, and the platform has said so once more just now.
    if (account.notEnrolled && look.error.status === 403) return { ids: [] };
    return { ids: [], why: { code: 'NOT_READ', message: look.error.message.slice(0, 500).toWellFormed() } };
  }
  const { shown: ids, reused } = look;
  if (!look.certain)
    return { ids, reused, why: { code: 'UNCERTAIN', message: 'the platform calls its own list uncertain' } };
  const message = 'its order stream is not live: what opened since the read is not known';
  return { ids, reused, ...(!live && { why: { code: 'NOT_LIVE', message } }) };
}

async function* openOrders(journal: ListDeps['journal'], accountId: string): AsyncGenerator<OpenOrder & Selectable> {
  for (let after: OpenOrder | undefined; ; ) {
    const page = await journal.openOrders(accountId, after, pageSize);
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1);
  }
}
