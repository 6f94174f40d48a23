import type { Observation, Unreadable } from '../../domain/observation.ts';
import { type OrderView, type Stream, statusWord } from '../../domain/order.ts';
import { storableText } from '../../venue/parse-json.ts';
import { type Fault, otherAccount, RowReader } from '../../venue/row-reader.ts';
import type { DecodedOrder, Venue } from '../../venue/venue.ts';

/** The facts about a row that its content does not give. */
export interface RowOrigin extends Omit<Observation, 'kind' | keyof DecodedOrder | 'onResult'> {
  readonly stream: Stream;
  readonly venue: Venue;
  /** The account whose stream or list brought it. */
  readonly accountId: string;
  /** Called with an order if its id needs a further look. */
  readonly onOddId?: ((view: OrderView) => void) | undefined;
}

/** The row is another account's than its stream or list: dropped and alarmed, never stored. */
export interface ForeignRow {
  readonly kind: 'foreign';
  readonly accountId: string;
}

/**
 * The order has no id of its own yet: some platforms show all orders under one until they are
 * acknowledged, and no order owns it. It is followed from the row on with its own id.
 */
interface UnacknowledgedRow {
  readonly kind: 'unacknowledged';
  readonly orderId: string;
}

/**
 * A row of the platform, from a stream event or a REST answer alike → an item for ingest. Never
 * throws. `raw` is called only when the row cannot be read.
 */
export function decodeOrder(
  row: unknown,
  origin: RowOrigin,
  raw: () => string,
): Observation | Unreadable | ForeignRow | UnacknowledgedRow {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
    return unreadable(origin, { reason: 'not_an_object', detail: 'expected an order object' }, raw, undefined);
  }
  const fields = row as Readonly<Record<string, unknown>>;
  const { orders } = origin.venue[origin.stream] ?? {};
  if (orders === undefined) throw new Error(`the venue has no stream ${origin.stream}`);
  const { names, decode } = orders;
  const foreign = otherAccount(fields, names.accountId, origin.accountId);
  if (foreign !== undefined) return { kind: 'foreign', accountId: foreign };
  const temporary = temporaryId(fields[names.orderId], fields[names.status]);
  if (temporary !== undefined) return { kind: 'unacknowledged', orderId: temporary };
  const reader = new RowReader(fields);
  const decoded = decode(reader, { accountId: origin.accountId, isEvent: origin.cause === 'stream' });
  if (reader.fault !== undefined) return unreadable(origin, reader.fault, raw, nameIn(fields, names.orderId));
  if (reader.hasOddId) origin.onOddId?.(decoded.view);
  return observation(decoded, origin);
}

const placeholder = /^(?:0*|-+|pending|none|null|nil|undefined|n\/?a|unknown|unassigned)$/i;

/** Only before the acknowledgement: a platform may count its orders from 0. */
function temporaryId(id: unknown, status: unknown): string | undefined {
  const text = String(id ?? '').trim();
  if (text.length > maxPlaceholder || !placeholder.test(text)) return undefined;
  return typeof status === 'string' && statusWord(status.trim()) === 'pending_new' ? text : undefined;
}

/** Nearly every id is longer. */
const maxPlaceholder = 16;

function observation(decoded: DecodedOrder, origin: RowOrigin): Observation {
  return {
    kind: 'order',
    cause: origin.cause,
    view: decoded.view,
    sourceVersion: decoded.sourceVersion,
    sourceEpoch: origin.sourceEpoch,
    overrules: origin.overrules,
    urgent: origin.urgent,
    onDoubt: origin.onDoubt,
    upTo: origin.upTo,
    observedAtMs: origin.observedAtMs,
    receivedMs: origin.receivedMs,
    bytes: origin.bytes,
  };
}

function unreadable(origin: RowOrigin, fault: Fault, raw: () => string, orderId: string | undefined): Unreadable {
  return {
    kind: 'unreadable',
    cause: origin.cause,
    stream: origin.stream,
    reason: fault.reason,
    detail: fault.detail,
    raw: cutRaw(textOf(raw)),
    accountId: origin.accountId,
    ...(orderId !== undefined && { orderId }),
    observedAtMs: origin.observedAtMs,
    receivedMs: origin.receivedMs,
    bytes: origin.bytes,
  };
}

/** A row nested deep enough overflows the stack when it is written out again. */
export function textOf(raw: () => string): string {
  try {
    return raw();
  } catch (error) {
    return `(cannot be shown: ${error instanceof Error ? error.message : 'unknown'})`;
  }
}

/** The order in a row's name, if at least the name can be read. */
function nameIn(fields: Readonly<Record<string, unknown>>, field: string): string | undefined {
  const reader = new RowReader(fields);
  const orderId = reader.id(field);
  return reader.fault === undefined ? orderId : undefined;
}

/** The part kept from an unreadable thing: 64 KiB, and nothing Postgres refuses. */
export function cutRaw(text: string): string {
  return storableText(text.length > 65_536 ? text.slice(0, 65_536) : text);
}
