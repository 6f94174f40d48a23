import type { FollowedAccounts } from '../connectors/account-access.ts';
import type { Window } from '../connectors/window.ts';
import type { Stream } from '../domain/order.ts';
import { isSelected, type Selectable } from '../domain/select-orders.ts';
import type { Clock } from '../runtime/clock.ts';
import type { CommandJournal, NewCancelAll, OpenOrder, OrderOfAccount, UnreadAccount } from '../store/command-journal.ts';
import { runProbe } from './account-reads.ts';
import type { Declined } from './check-submission.ts';
import type { CancelAllScope } from './commands.ts';

interface ListDeps {
  readonly journal: Pick<CommandJournal, 'openOrders' | 'unseenPlaces'>;
  readonly accounts: FollowedAccounts;
  readonly clock: Clock;
  /** Bounds the reads that all cancel-alls of the process make side by side. */
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

/**
 * Lists everything that a cancel-all has to cover. The accounts are read first, since a stream may have lost an order; then the places whose order was not seen
 * yet, and the open orders. `scope.only` selects among both. With the scope of the whole service, accounts that may not be traded are listed separately.
 * Rejects when the journal can't be read.
 */
export async function listCancelAll(
  deps: ListDeps,
  scope: CancelAllScope,
  limits: ListLimits,
): Promise<CancelAllList | Declined> {
  const { journal, objection } = deps;
  const declined: { accountId: string; code: string; message: string }[] = [];
  const accountIds: string[] = [];
  for (const accountId of scope.kind === 'account' ? [scope.accountId] : scope.accountIds) {
    const objected = objection(accountId);
    if (objected !== undefined && scope.kind === 'account') return objected;
    if (objected === undefined) accountIds.push(accountId);
    else declined.push({ accountId, code: objected.code, message: objected.message });
  }
  const unread = await readAccounts(deps, accountIds, limits);
  // In this order, a place that lands between the two reads is on both lists. The other way round it would be on neither.
  const unseen = await journal.unseenPlaces(accountIds);
  const places = unseen
    .filter((place) => isSelected(place, scope.only))
    .map(({ accountId, stream, commandId }) => ({ accountId, stream, commandId }));
  const orders: OrderOfAccount[] = [];
  for (const accountId of accountIds) {
    for await (const order of openOrders(journal, accountId)) {
      const { stream, orderId } = order;
      if (isSelected(order, scope.only)) orders.push({ accountId, stream, orderId });
    }
  }
  return { orders, places, unread, declined };
}

/** Reads every account on every stream on which it is followed. Returns the accounts that may still have open orders that are not known. Never rejects. */
async function readAccounts(
  deps: ListDeps,
  accountIds: readonly string[],
  { cancelAllReadMs, over }: ListLimits,
): Promise<UnreadAccount[]> {
  const untilMs = deps.clock.monotonicMs() + cancelAllReadMs;
  const unread: UnreadAccount[] = [];
  const streams = ['account', 'prediction'] as const;
  const all = accountIds.flatMap((accountId) => streams.map((stream) => ({ accountId, stream })));
  const read = async ({ accountId, stream }: (typeof all)[number]) => {
    const leftMs = untilMs - deps.clock.monotonicMs();
    const why = await readAccount(deps, stream, accountId, leftMs, over);
    if (why !== undefined) unread.push({ accountId, stream, ...why });
  };
  await Promise.all(all.map((each) => deps.listWindow.run(() => read(each))));
  return unread.sort((a, b) => (`${a.accountId} ${a.stream}` < `${b.accountId} ${b.stream}` ? -1 : 1));
}

/** Why the account may have open orders that are not known, if so. */
async function readAccount(
  { accounts, clock }: ListDeps,
  stream: Stream,
  accountId: string,
  leftMs: number,
  stop: AbortSignal,
): Promise<Pick<UnreadAccount, 'code' | 'message'> | undefined> {
  const account = accounts.account(stream, accountId);
  if (account === undefined)
    return accounts.hasListed ? undefined : { code: 'NOT_LIVE', message: 'the accounts have not been listed yet' };
  const { live } = account;
  const read = (signal: AbortSignal) => account.lookAtAll(undefined, signal);
  const look = await runProbe({ clock }, read, { deadlineMs: Math.max(1, leftMs), stops: [stop] });
  // Known as such, and the platform has said so once more just now.
  if (!look.complete && account.notEnrolled && look.error.status === 403) return undefined;
  if (!look.complete) return { code: 'NOT_READ', message: look.error.message.slice(0, 500).toWellFormed() };
  if (!look.certain) return { code: 'UNCERTAIN', message: 'the platform calls its own list uncertain' };
  return live
    ? undefined
    : { code: 'NOT_LIVE', message: 'its order stream is not live: what opened since the read is not known' };
}

async function* openOrders(journal: ListDeps['journal'], accountId: string): AsyncGenerator<OpenOrder & Selectable> {
  for (let after: OpenOrder | undefined; ; ) {
    const page = await journal.openOrders(accountId, after, pageSize);
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1);
  }
}
