import { parseInstant } from '../../domain/instant.ts';
import { type ListState, listStates, pageLimit } from '../../platform/wire/order-pages.ts';
import type { Micros } from '../exchange/instant-text.ts';

/** What a list was asked for. */
export interface ListQuery {
  readonly accountId: string;
  /** `clOrdId` or `clientOrderRef`. */
  readonly reference: string | undefined;
  readonly state: ListState;
  /** Only what changed later than this: the later of cursor and `updatedAfter`. */
  readonly after: Micros;
  readonly limit: number;
}

/** The names that differ between the two lists. */
export interface ListNames {
  readonly reference: 'clOrdId' | 'clientOrderRef';
  readonly state: 'status' | 'state';
}

/** Reads the query of an order list (contract, "Prediction orders" and "Equity and option orders"), or says what is wrong with it. */
export function readListQuery(
  query: Readonly<Record<string, unknown>>,
  names: ListNames,
): ListQuery | { readonly fault: string } {
  for (const [name, value] of Object.entries(query)) if (typeof value !== 'string') return { fault: `${name} is given twice` };
  const given = query as Readonly<Record<string, string>>;
  const accountId = given['accountId'];
  if (accountId === undefined || accountId === '') return { fault: 'accountId is missing' };
  const state = given[names.state] ?? 'all';
  if (!isListState(state)) return { fault: `${names.state} must be one of ${listStates.join(', ')}` };
  const limit = readLimit(given['limit']);
  if (limit === undefined) return { fault: `limit must be a whole number from 1 to ${pageLimit.max}` };
  const updatedAfter = readInstant(given['updatedAfter']);
  if (updatedAfter === undefined) return { fault: 'updatedAfter must be an ISO 8601 date-time' };
  const cursor = readCursor(given['cursor']);
  if (cursor === undefined) return { fault: 'cursor is not one of ours' };
  return { accountId, reference: given[names.reference], state, after: Math.max(updatedAfter, cursor), limit };
}

/** Where the next page begins. Opaque to readers. */
export function writeCursor(after: Micros): string {
  return Buffer.from(`after:${after}`).toString('base64url');
}

function readCursor(text: string | undefined): Micros | undefined {
  if (text === undefined) return 0;
  const match = /^after:(\d{1,16})$/.exec(Buffer.from(text, 'base64url').toString('latin1'));
  return match === null || writeCursor(Number(match[1])) !== text ? undefined : Number(match[1]);
}

function readInstant(text: string | undefined): Micros | undefined {
  if (text === undefined) return 0;
  const nanoseconds = parseInstant(text);
  return nanoseconds === undefined ? undefined : Number(nanoseconds / 1000n);
}

function readLimit(text: string | undefined): number | undefined {
  if (text === undefined) return pageLimit.default;
  if (!/^\d{1,4}$/.test(text)) return undefined;
  const limit = Number(text);
  return limit >= 1 && limit <= pageLimit.max ? limit : undefined;
}

function isListState(text: string): text is ListState {
  return (listStates as readonly string[]).includes(text);
}
