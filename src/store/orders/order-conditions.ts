import { shortestContract, symbolLetters } from '../../domain/symbol.ts';
import type { OrderFilter } from './order-reads.ts';

/** How an order is compared with a filter, `value`: SQL over `o` (of `current_orders`). */
interface Condition {
  readonly sql: (value: string) => string;
  /** The filter as a parameter; left out: as it is. */
  readonly given?: (text: string) => string;
  /** The parameter without the filter. Left out: null, and then `sql` is not asked. */
  readonly none?: string;
}

const ofColumns = {
  since: { sql: (value) => `o.updated_at >= ${value}::timestamptz`, none: '-infinity' },
  until: { sql: (value) => `o.updated_at < ${value}::timestamptz`, none: 'infinity' },
  // A leg names its contract: the order is listed under the underlying. Legs are looked for only by
  // a text as long as a contract: to find them in 20,000 states took 0.5 s more than to compare the
  // symbols.
  symbol: {
    sql: (value) => `(public.symbol_letters(o.symbol) = ${value}
    or case when length(${value}) >= ${shortestContract} and strpos(coalesce(o.kept_state::text, o.payload), '"legs"') > 0
      then exists (select from json_array_elements(case json_typeof(o.state -> 'instrument' -> 'legs') when 'array' then o.state -> 'instrument' -> 'legs' end) as leg where public.symbol_letters(leg ->> 'symbol') = ${value}) end)`,
    given: symbolLetters,
  },
  status: { sql: (value) => `o.status = ${value}` },
} as const satisfies Record<string, Condition>;

/**
 * Over `s`: the state's fields, parsed once for all conditions, and only where one needs them. A
 * line break separates the references, and no searched text has one.
 */
const ofState = {
  side: { sql: (value) => `starts_with(s.side, ${value})` },
  origin: { sql: (value) => `s.origin = ${value}` },
  q: {
    sql: (value) =>
      `strpos(${small(`concat_ws(E'\\n', o.order_id, s."clOrdId", s."clientOrderRef", s."venueOrderId", s."commandId", s."callerRef")`)}, ${small(value)}) > 0`,
  },
} as const satisfies Record<string, Condition>;
const stateFields = `json_to_record(o.state) as s(side text, origin text, "clOrdId" text, "clientOrderRef" text, "venueOrderId" text, "commandId" text, "callerRef" text)`;

/** No index answers these: a list looks at a bounded number of keys, and drops the others. */
const conditions: Readonly<Record<Exclude<keyof OrderFilter, 'stream' | 'accountId' | 'open'>, Condition>> = {
  ...ofColumns,
  ...ofState,
};
const names = Object.keys(conditions) as (keyof typeof conditions)[];

/** The conditions as SQL. `first`: the number of the first one's parameter. */
export function orderConditions(first: number) {
  const parameter = (name: keyof typeof conditions) => `$${first + names.indexOf(name)}`;
  const sqlOf = ([name, { sql, none }]: [string, Condition]) => {
    const value = parameter(name as keyof typeof conditions);
    return none === undefined ? `(${value}::text is null or ${sql(value)})` : sql(value);
  };
  const [columns, state] = [ofColumns, ofState].map((some) => Object.entries<Condition>(some));
  const inState = Object.keys(ofState).map((name) => `${parameter(name as keyof typeof ofState)}::text`);
  return {
    since: `${parameter('since')}::timestamptz`,
    until: `${parameter('until')}::timestamptz`,
    all: `${columns?.map(sqlOf).join('\n  and ')}
  and (num_nonnulls(${inState.join(', ')}) = 0 or exists (select from ${stateFields} where ${state?.map(sqlOf).join(' and ')}))`,
  };
}

/** In a Turkish database `lower` makes another letter of I. */
function small(text: string): string {
  return `lower(translate(${text}, 'I', 'i'))`;
}

export function conditionValues(filter: OrderFilter): readonly (string | null)[] {
  return names.map((name) => {
    const [value, { given, none = null }] = [filter[name], conditions[name]];
    return value === undefined ? none : (given?.(value) ?? value);
  });
}

/** Whether an order may be looked at and not shown. */
export function isSelective(filter: OrderFilter): boolean {
  return names.some((name) => filter[name] !== undefined);
}
