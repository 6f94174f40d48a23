import type { BoundOrder, SettlingUpdate } from '../domain/settling.ts';
import type { CommandJournal } from '../store/command-journal.ts';
import type { CommandBook } from './command-book.ts';
import type { Watched } from './watched.ts';

/** A page of the log. */
const pageSize = 200;
/** What a slow cancel of a busy order may gather. Verdicts were read off the older ones when they came, and "seen pending" is durable. */
const maxUpdates = 1_000;
const idsPerQuery = 500;

/** The orders that a verdict on the command is read off: the one that a replace or a cancel names, those that are bound to a place. */
function ordersOf({ command, bound }: Watched): readonly string[] {
  const { request, orderId } = command;
  if (request.kind === 'place') return bound.map((each) => each.orderId);
  return orderId === undefined ? [] : [orderId];
}

/** The newest revision that it has of an order, or that it began above. */
function lastRevision({ command, updates }: Watched, orderId: string): number {
  return updates.findLast(({ order }) => order.orderId === orderId)?.revision ?? command.baseline?.revision ?? 0;
}

/**
 * Takes an update of one of its orders. True: it is news. A revision that does not follow the last one leaves the entry `behind`: revisions have no hole, so a hole
 * means that a hand-over was missed, or that the order was bound to its place after its first revision, and the log has it.
 */
export function takeUpdate(entry: Watched, update: SettlingUpdate): boolean {
  const { orderId } = update.order;
  const last = lastRevision(entry, orderId);
  if (!ordersOf(entry).includes(orderId) || update.revision <= last) return false;
  if (update.revision > last + 1) entry.behind = true;
  else append(entry, update);
  return true;
}

function append(entry: Watched, update: SettlingUpdate): void {
  entry.updates = [...entry.updates.slice(-maxUpdates + 1), update];
}

/** An order carries one of the command's attempt ids. True: it is news. An id that is none of its attempts binds nothing, whoever says so. */
export function takeBound(entry: Watched, bound: BoundOrder): boolean {
  if (!entry.command.attempts.some(({ attemptId }) => attemptId === bound.attemptId)) return false;
  if (entry.bound.some(({ orderId }) => orderId === bound.orderId)) return false;
  entry.bound = [...entry.bound, bound];
  return true;
}

/**
 * Reads from the journal what these may have missed: bindings of all places in one query a few hundred, the log of each order named. What it reads is committed, so
 * after it they are not behind anything that was committed before it began. Rejects when the journal can't be read; they stay behind.
 */
export async function catchUp(journal: CommandJournal, book: CommandBook, entries: readonly Watched[]): Promise<void> {
  for (const entry of entries) entry.behind = false;
  try {
    const places = entries.filter(({ command }) => command.request.kind === 'place');
    for (let at = 0; at < places.length; at += idsPerQuery) await catchUpPlaces(journal, places.slice(at, at + idsPerQuery));
    await catchUpRivals(journal, book, entries);
    for (const entry of entries) for (const orderId of ordersOf(entry)) await catchUpOrder(journal, entry, orderId);
  } catch (error) {
    for (const entry of entries) entry.behind = true;
    throw error;
  }
}

async function catchUpPlaces(journal: CommandJournal, entries: readonly Watched[]): Promise<void> {
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
    for (const { commandId, rivalId } of await journal.rivalCancels([...byId.keys()])) {
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
  // The whole log of the order may be behind its retention. Of a named order nothing is read off its state alone: what led there is what tells.
  if (request.kind !== 'place' || lastRevision(entry, orderId) > 0) return;
  const stored = await journal.readOrder(request.stream, orderId);
  if (stored !== undefined) takeLogged(entry, stored);
}

/** From the log: what it does not have any more (retention) is not waited for. */
function takeLogged(entry: Watched, update: SettlingUpdate): void {
  if (update.revision > lastRevision(entry, update.order.orderId)) append(entry, update);
}
