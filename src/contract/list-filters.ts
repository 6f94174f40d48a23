import { commandKinds, commandStates } from '../domain/command.ts';
import { orderStatuses, streams } from '../domain/order.ts';

// Order and command lists have these filters. The two tables make REST's query, the command line's
// flags, the assistant's tools and the console's forms. They need no package, since a browser
// fetches them as well: filter-shapes.ts has the zod shapes.

/** How its text is read. `flag`: yes or no. A list: one word from it. */
type Takes = 'account' | 'symbol' | 'time' | 'search' | 'key' | 'reference' | 'flag' | readonly [string, ...string[]];

export interface Filter {
  readonly takes: Takes;
  /** For people who call REST, type a flag or write a tool. */
  readonly about: string;
  /** In the console. */
  readonly label: string;
  /** Its names elsewhere, where they differ from its name in REST. */
  readonly flag?: string;
  readonly tool?: string;
  /** In the console's address. */
  readonly address?: string;
  /** It is on, but for callers of REST. Its names turn it off, and so does the filter `unless`. */
  readonly off?: { readonly about: string; readonly unless: string };
}

export type Filters = Readonly<Record<string, Filter>>;

/** A list's filters with their values, as the store gets them. */
export type FilterOf<All extends Filters> = { readonly [name in keyof All]?: ValueOf<All[name]['takes']> };
type ValueOf<T> = T extends readonly (infer Word)[] ? Word : T extends 'flag' ? boolean : string;

const search = { takes: 'search', flag: 'find', tool: 'find' } as const;
const accountId = {
  takes: 'account',
  about: 'Only this account',
  label: 'Account',
  flag: 'account',
  address: 'account',
} as const;

export const orderFilters = {
  stream: { takes: streams, about: 'Only this stream', label: 'Stream' },
  accountId,
  symbol: {
    takes: 'symbol',
    about:
      'Only this symbol, in any spelling: `BRK/B` is `BRK.B`, an option is compact or padded. Also by the contract of a leg',
    label: 'Symbol',
  },
  status: { takes: orderStatuses, about: 'Only this status', label: 'Status' },
  open: {
    takes: 'flag',
    about: 'Only orders that may still change, or only those that are over',
    label: 'Open only',
    flag: 'all',
    tool: 'includeClosed',
    off: { about: 'Also orders that are over', unless: 'status' },
  },
  side: {
    takes: ['buy', 'sell'],
    about: 'Only this direction: a short sale sells, and a buy that covers one buys',
    label: 'Side',
  },
  origin: { takes: ['tidemark', 'external'], about: 'Only orders placed here, or elsewhere', label: 'Origin' },
  since: {
    takes: 'time',
    about: 'Only orders whose newest change was stored at this time or later',
    label: 'Changed since',
  },
  until: {
    takes: 'time',
    about: 'Only orders whose newest change was stored before this time',
    label: 'Changed before',
  },
  q: {
    ...search,
    about:
      'An order id, a command id, the platform’s or the caller’s reference: the orders that it names whole, of any age; without one, those that have it as a part, in any case',
    label: 'Filter',
    address: 'text',
  },
} as const satisfies Filters;

export const commandFilters = {
  accountId,
  kind: { takes: commandKinds, about: 'Only this kind', label: 'Any kind' },
  state: { takes: commandStates, about: 'Only this state', label: 'Any result' },
  unresolved: {
    takes: 'flag',
    about: 'Only commands whose result is not known, or has to be resolved by a person',
    label: 'Unresolved only',
  },
  idempotencyKey: {
    takes: 'key',
    about: 'Only with this idempotency key, to the letter',
    label: 'Idempotency key',
    address: 'key',
  },
  callerRef: {
    takes: 'reference',
    about: 'Only with this reference of the caller, to the letter',
    label: 'Caller’s reference',
    flag: 'ref',
    address: 'reference',
  },
  q: {
    ...search,
    about:
      'A command id, the id of an attempt, an order id, an idempotency key or the caller’s reference, each to the letter',
    label: 'Any id',
    address: 'text',
  },
} as const satisfies Filters;

/** Where a filter is given. */
type Surface = 'flag' | 'tool' | 'address';

export function nameOn(surface: Surface, name: string, filter: Filter): string {
  return filter[surface] ?? name;
}

/** REST's query, from values under one surface's names. */
export function queryFrom(
  filters: Filters,
  surface: Surface,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(filters).map(([name, filter]) => {
      const { off } = filter;
      const value = given[nameOn(surface, name, filter)] || undefined;
      if (off === undefined) return [name, value === undefined ? undefined : String(value)];
      return [name, (value ?? given[off.unless]) === undefined ? 'true' : undefined];
    }),
  );
}
