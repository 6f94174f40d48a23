import type { Command } from '../domain/command.ts';
import type { BoundOrder, SettlingUpdate } from '../domain/settling.ts';
import type { CommandBook } from './command-book.ts';
import type { CommandJournal } from './command-journal.ts';
import type { Watched } from './watched.ts';

/** A page of the log. */
const pageSize = 200;
/** What a slow cancel of a busy order may gather. Verdicts were read off the older ones when they came, and "seen pending" is durable. */
const maxUpdates = 1_000;
const idsPerQuery = 500;

/** The one order that a replace or a cancel is about. */
function namedOrder({ request, orderId }: Command): string | undefined {
  return request.kind === 'place' ? undefined : orderId;
}

/**
 * Takes an update of the watched order, or of an order bound to the watched place. True: it is news. A revision that does not follow the last one leaves the entry
 * `behind`: revisions have no hole, so a hole means that a hand-over was missed, and the log has it.
 */
export function takeUpdate(entry: Watched, update: SettlingUpdate): boolean {
  if (entry.command.request.kind === 'place') return takeOfBound(entry, update);
  const last = entry.updates.at(-1)?.revision ?? entry.command.baseline?.revision ?? 0;
  if (update.revision <= last) return false;
  if (update.revision > last + 1) {
    entry.behind = true;
    return true;
  }
  entry.updates = [...entry.updates.slice(-maxUpdates + 1), update];
  return true;
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
    for (const entry of entries) await catchUpOrder(journal, entry);
  } catch (error) {
    for (const entry of entries) entry.behind = true;
    throw error;
  }
}

async function catchUpPlaces(journal: CommandJournal, entries: readonly Watched[]): Promise<void> {
  const byId = new Map(entries.map((entry) => [entry.command.commandId, entry]));
  for (const bound of await journal.boundOrders([...byId.keys()])) {
    const entry = byId.get(bound.commandId);
    if (entry === undefined || !takeBound(entry, bound)) continue;
    const newest = await journal.readOrder(entry.command.request.stream, bound.orderId);
    if (newest !== undefined) takeOfBound(entry, newest);
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

async function catchUpOrder(journal: CommandJournal, entry: Watched): Promise<void> {
  const orderId = namedOrder(entry.command);
  if (orderId === undefined) return;
  for (;;) {
    const after = entry.updates.at(-1)?.revision ?? entry.command.baseline?.revision ?? 0;
    const page = await journal.updatesAfter(entry.command.request.stream, orderId, after, pageSize);
    for (const update of page) takeLogged(entry, update);
    if (page.length < pageSize) return;
  }
}

/** From the log: what it does not have any more (retention) is not waited for. */
function takeLogged(entry: Watched, update: SettlingUpdate): void {
  const last = entry.updates.at(-1)?.revision ?? 0;
  if (update.revision > last) entry.updates = [...entry.updates.slice(-maxUpdates + 1), update];
}

function takeOfBound(entry: Watched, update: SettlingUpdate): boolean {
  const { orderId } = update.order;
  if (!entry.bound.some((bound) => bound.orderId === orderId)) return false;
  const held = entry.updates.find(({ order }) => order.orderId === orderId);
  if (held !== undefined && held.revision >= update.revision) return false;
  entry.updates = [...entry.updates.filter((each) => each !== held), update];
  return true;
}
