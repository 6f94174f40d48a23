import type { NormalisedOrder, OrderUpdate } from '../../../../types/records.d.ts';

/**
 * One revision, with its changed fields: without the time, which stands beside it, and the
 * platform's own word for a changed status.
 */
export interface Step {
  readonly update: OrderUpdate;
  readonly changes: readonly Change[];
  /**
   * From the platform's own time of the change to the moment the service learnt about it; undefined
   * if a time cannot be read.
   */
  readonly delayMs: number | undefined;
  /**
   * From then to its storing in the database; undefined: it came by the stream, which does not say
   * it.
   */
  readonly storedAfterMs: number | undefined;
}

export interface Change {
  readonly field: string;
  /** Undefined: it was not there. */
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** The history as a ladder, newest first. `updates`: by revision, oldest first. */
export function ladderOf(updates: readonly OrderUpdate[], recordedAt: ReadonlyMap<string, string> = new Map()): Step[] {
  return updates.map((update, at) => stepOf(update, updates[at - 1], recordedAt.get(update.eventId))).reverse();
}

function stepOf(update: OrderUpdate, before: OrderUpdate | undefined, recordedAt: string | undefined): Step {
  // Without the revision before, the old values are not known; a first revision has none.
  const old = before?.order;
  const fields = update.revision === 1 || old === undefined ? firstFields : update.changed;
  const shown = fields.filter(
    (field) => field !== 'updatedAt' && !(field === 'statusRaw' && fields.includes('status')),
  );
  const changes = shown.map((field) => ({ field, from: valueIn(old, field), to: valueIn(update.order, field) }));
  return {
    update,
    changes: changes.filter(({ from, to }) => from !== undefined || to !== undefined),
    delayMs: between(update.occurredAt, update.observedAt),
    storedAfterMs: recordedAt === undefined ? undefined : between(update.observedAt, recordedAt),
  };
}

/**
 * The fields that differ between two states of one order, without the time and the platform's own
 * word for a changed status.
 */
export function changesBetween(before: NormalisedOrder, after: NormalisedOrder): Change[] {
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changes = fields.map((field) => ({ field, from: valueIn(before, field), to: valueIn(after, field) }));
  return changes.filter(({ field, from, to }) => from !== to && field !== 'updatedAt' && field !== 'statusRaw');
}

/** A first revision changes every field; these say the order. */
const firstFields = ['status', 'orderType', 'timeInForce', 'quantity', 'price', 'stopPrice', 'cumQty'] as const;

function valueIn(order: NormalisedOrder | undefined, field: string): string | undefined {
  return textOf((order as Readonly<Record<string, unknown>> | undefined)?.[field]);
}

/** A value in one line: `quantity 5, price 0.4` for an object. */
function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textOf).join('; ');
  if (typeof value !== 'object' || isRaw(value)) return JSON.stringify(value);
  return Object.entries(value)
    .map(([name, inner]) => `${name} ${textOf(inner)}`)
    .join(', ');
}

/** A number with its digits kept (order-history.ts). */
function isRaw(value: object): boolean {
  return 'rawJSON' in value && Object.getPrototypeOf(value) === null;
}

function between(from: string, to: string): number | undefined {
  const ms = Date.parse(to) - Date.parse(from);
  return Number.isNaN(ms) ? undefined : ms;
}
