import { attemptPrefix } from '../../domain/command.ts';
import { type Head, isUnreadable, type UnreadableHead } from '../../domain/head.ts';
import type { Observation } from '../../domain/observation.ts';
import { type OrderView, type OwnFields, orderWord } from '../../domain/order.ts';
import { clientReferenceOf, firstSeen, isAnotherOrder } from '../../domain/order-fields.ts';
import { directionOf } from '../../domain/view-content.ts';
import type { Binding, BindingRow } from '../../store/orders/order-store.ts';
import type { Entry } from './entry.ts';
import type { HeadCache } from './head-cache.ts';
import type { IngestDeps } from './ingest-deps.ts';

/** An id of ours, which a platform, or a venue behind it, may show in capitals. */
const inCapitals = new RegExp(`^${attemptPrefix}[0-9a-f-]{36}$`, 'i');

/**
 * The attempt's id, if one of our attempts may have placed the order under it. Undefined for all
 * others, so that foreign orders cost nothing.
 */
export function referenceOf(view: OrderView): string | undefined {
  const reference = clientReferenceOf(view);
  if (reference === undefined || reference.startsWith(attemptPrefix)) return reference;
  return inCapitals.test(reference) ? reference.toLowerCase() : undefined;
}

/**
 * The reference to look up for an observation: the order is new, or its views so far lacked their
 * reference. An order costs nothing once it is bound or its reference was looked up. A confirmed
 * read may begin another order under the id: it gets a binding of its own.
 */
export function referenceToBind(
  head: Head | undefined,
  { view, overrules }: Pick<Observation, 'view' | 'overrules'>,
): string | undefined {
  const reference = referenceOf(view);
  if (reference === undefined || head === undefined) return reference;
  if (overrules === head.revision && isAnotherOrder(head, view))
    return referenceOf(head.order) === reference ? undefined : reference;
  return head.order.commandId === undefined && referenceOf(head.order) === undefined ? reference : undefined;
}

/**
 * The data for the first revision with an attempt's id: the row that ties the order to the attempt,
 * and our own fields of the order. The symbol may differ from the one we sent: the platform has
 * names of its own (BRK.B for BRK/B, an option's OCC symbol). If the account or the side's
 * direction differs from the attempt's, the order keeps its row, for a person to look at, and stays
 * `external`. The platform does not promise that references are unique, and any client may send one
 * like ours (docs/commands.md, "How unknown is resolved").
 *
 * Mostly that is the order's first revision. It is a later one if a list or an event left the
 * reference out at first. The attempt is committed before its first byte leaves, so its binding can
 * be read before any order of ours is observed. The exception is a database restored to a moment in
 * between: such an order stays `external`.
 */
export function bindOrder(
  view: OrderView,
  attemptId: string,
  binding: Binding | undefined,
): { readonly row: BindingRow; readonly own: OwnFields } | undefined {
  if (binding === undefined) return undefined;
  const { commandId, callerRef } = binding;
  const matches =
    binding.stream === view.stream &&
    binding.accountId === view.accountId &&
    // A replace names no side.
    (view.side === 'unknown' ||
      binding.side === null ||
      directionOf(orderWord(binding.side)) === directionOf(view.side));
  const row: BindingRow = { stream: view.stream, orderId: view.orderId, attemptId, commandId, matches };
  if (!matches) return { row, own: firstSeen };
  return { row, own: { origin: 'tidemark', commandId, ...(callerRef !== undefined && { callerRef }) } };
}

/** A batch has to know these beside the cache. */
export interface Known {
  /** The attempts behind the entries' orders, by their ids. */
  readonly bindings: ReadonlyMap<string, Binding>;
  /** By key. */
  readonly unreadable: ReadonlyMap<string, UnreadableHead>;
}

/**
 * It shows an order that just began, so most likely none is stored. An order that is stored may be
 * shown like this too: an event is repeated, or an id is given again.
 */
function isFirstSight({ cause, view }: Observation): boolean {
  return cause === 'stream' && view.status === 'pending_new' && view.cumQty === '0';
}

const noBindings: ReadonlyMap<string, Binding> = new Map();
const noHeads: ReadonlyMap<string, Head> = new Map();
const nothing: Known = { bindings: noBindings, unreadable: new Map() };

/**
 * Reads the missing heads of the entries into the cache, and returns the attempts that those orders
 * refer to. Both are asked for at once. Few such orders will turn out to be new, but with a second
 * round trip each would slow down its batch. An unreadable head is its order's fault alone; only
 * then its owner is asked for. Rejects when the database can't be reached.
 *
 * `trustsFirst`: an order whose first entry is a first sight is not looked up, but taken for new.
 * Where it is stored, `apply_batch` refuses the batch: each head says what it was reduced from. The
 * caller must then ask again without trust. A sixth of all events are first sights; with the look
 * nearly each batch at 5,000/s had two round trips.
 */
export async function loadKnown(
  { store, log }: Pick<IngestDeps, 'store' | 'log'>,
  cache: HeadCache,
  entries: readonly Entry[],
  /** By `keysOf`. */
  keys: readonly string[],
  trustsFirst: boolean,
): Promise<Known> {
  const unknown = new Set<string>();
  const begun = new Set<string>();
  const references = new Set<string>();
  for (let i = 0; i < entries.length; i += 1) {
    const entry = entries[i] as Entry;
    if (entry.kind !== 'order') continue;
    const key = keys[i] as string;
    const cached = cache.get(key);
    if (cached === undefined && !begun.has(key)) {
      const taken = trustsFirst && isFirstSight(entry) && !unknown.has(key);
      (taken ? begun : unknown).add(key);
    }
    // For most entries this looks at one prefix: bound orders and foreign orders cost no query.
    const reference = cached === undefined ? referenceOf(entry.view) : referenceToBind(cached, entry);
    if (reference !== undefined) references.add(reference);
  }
  if (unknown.size === 0 && references.size === 0) return nothing;
  const [heads, bindings] = await Promise.all([
    unknown.size === 0 ? noHeads : store.readHeads([...unknown]),
    references.size === 0 ? noBindings : store.readBindings([...references]),
  ]);
  const unreadable = new Map<string, UnreadableHead>();
  for (const [key, head] of heads) {
    if (!isUnreadable(head)) {
      cache.set(key, head);
      continue;
    }
    unreadable.set(key, head);
    log.error(
      { key, fault: head.fault },
      'the stored state of an order is unreadable; a read from REST begins it again',
    );
  }
  const own = [...unreadable.values()].flatMap(({ attemptId }) => attemptId ?? []);
  if (own.length === 0) return { bindings, unreadable };
  return { bindings: new Map([...bindings, ...(await store.readBindings(own))]), unreadable };
}
