import { isForOrder, makesOrder } from '../../domain/command.ts';
import type { BoundOrder, ResolvingUpdate } from '../../domain/resolving.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import type { CommandBook } from './command-book.ts';
import type { Watched } from './watched.ts';

/** A page of the log. */
const pageSize = 200;
/**
 * The most updates kept for a slow cancel on a busy order. Verdicts were read from the older ones
 * when they came, and "seen pending" is durable.
 */
const maxUpdates = 1_000;
const idsPerQuery = 500;

/**
 * The orders to read a verdict from: the one named by a replace or a cancel, and those with its
 * reference.
 */
function ordersOf({ command: { request }, bound }: Watched): readonly string[] {
  const made = bound.map((each) => each.orderId);
  return request.kind === 'place' ? made : [request.orderId, ...made];
}

/** The entry's newest revision for an order, or the baseline it began above. */
function lastRevision({ command, updates }: Watched, orderId: string): number {
  const begun = isForOrder(command.request, orderId) ? command.baseline?.revision : undefined;
  return updates.findLast(({ order }) => order.orderId === orderId)?.revision ?? begun ?? 0;
}

/**
 * Takes an update for one of the entry's orders. True: it is news. A revision out of line leaves
 * the entry `behind`: revisions have no gaps, so a hand-over was missed, or the order was bound to
 * its place after its first revision. The log has the missing ones.
 */
export function takeUpdate(entry: Watched, update: ResolvingUpdate): boolean {
  const { orderId } = update.order;
  const last = lastRevision(entry, orderId);
  if (!ordersOf(entry).includes(orderId) || update.revision <= last) return false;
  if (update.revision > last + 1) entry.behind = true;
  else append(entry, update);
  return true;
}

function append(entry: Watched, update: ResolvingUpdate): void {
  entry.updates = [...entry.updates.slice(-maxUpdates + 1), update];
}

/**
 * An order carries one of the command's attempt ids. True: it is news. Another attempt id binds
 * nothing, from any source.
 */
export function takeBound(entry: Watched, bound: BoundOrder): boolean {
  if (!entry.command.attempts.some(({ attemptId }) => attemptId === bound.attemptId)) return false;
  if (entry.bound.some(({ orderId }) => orderId === bound.orderId)) return false;
  entry.bound = [...entry.bound, bound];
  return true;
}

/**
 * Reads from the journal all news these entries may have missed: the bindings, a few
 * hundred in one query, and each named order's log. All is committed, so afterwards the entries
 * have everything committed before the call began. Rejects when the journal can't be read; the
 * entries stay behind.
 */
export async function catchUp(journal: CommandJournal, book: CommandBook, entries: readonly Watched[]): Promise<void> {
  for (const entry of entries) entry.behind = false;
  try {
    const making = entries.filter(({ command }) => makesOrder(command.request));
    for (let at = 0; at < making.length; at += idsPerQuery)
      await catchUpBound(journal, making.slice(at, at + idsPerQuery));
    await catchUpRivals(journal, book, entries);
    for (const entry of entries) for (const orderId of ordersOf(entry)) await catchUpOrder(journal, entry, orderId);
  } catch (error) {
    for (const entry of entries) entry.behind = true;
    throw error;
  }
}

async function catchUpBound(journal: CommandJournal, entries: readonly Watched[]): Promise<void> {
  const byId = new Map(entries.map((entry) => [entry.command.commandId, entry]));
  for (const bound of await journal.boundOrders([...byId.keys()])) {
    const entry = byId.get(bound.commandId);
    if (entry !== undefined) takeBound(entry, bound);
  }
}

async function catchUpRivals(journal: CommandJournal, book: CommandBook, entries: readonly Watched[]): Promise<void> {
  const unread = entries.filter(({ rivalsUnread }) => rivalsUnread);
  for (let at = 0; at < unread.length; at += idsPerQuery) {
    const byId = new Map(unread.slice(at, at + idsPerQuery).map((entry) => [entry.command.commandId, entry]));
    for (const { commandId, rivalId } of await journal.rivals([...byId.keys()])) {
      const entry = byId.get(commandId);
      if (entry !== undefined) book.addRival(entry, rivalId);
    }
    for (const entry of byId.values()) entry.rivalsUnread = false;
  }
}

async function catchUpOrder(journal: CommandJournal, entry: Watched, orderId: string): Promise<void> {
  const { request } = entry.command;
  for (;;) {
    const page = await journal.updatesAfter(request.stream, orderId, lastRevision(entry, orderId), pageSize);
    for (const update of page) takeLogged(entry, update);
    if (page.length < pageSize) break;
  }
  // The order's whole log may be past its retention. A verdict on a named order is never read from
  // its state alone: the changes that led there decide.
  if (isForOrder(request, orderId) || lastRevision(entry, orderId) > 0) return;
  const stored = await journal.readOrder(request.stream, orderId);
  if (stored !== undefined) takeLogged(entry, stored);
}

/**
 * Takes an update from the log. Updates that the log no longer has (retention) are not waited for.
 */
function takeLogged(entry: Watched, update: ResolvingUpdate): void {
  if (update.revision > lastRevision(entry, update.order.orderId)) append(entry, update);
}
