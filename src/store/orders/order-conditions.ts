import { shortestContract, symbolLetters } from '../../domain/symbol.ts';
import type { OrderFilter } from './order-reads.ts';

/** The state's fields, parsed once for all conditions, and only where one needs them. */
const fields = `json_to_record(o.state) as s(side text, origin text, "clOrdId" text, "clientOrderRef" text, "venueOrderId" text, "commandId" text, "callerRef" text)`;

/**
 * Conditions no index answers, on `o` (of `current_orders`), as parameters $6 to $13 but $8. A list
 * looks at a bounded number of keys for a page and drops the orders that do not match. A line break
 * separates the references, and no searched text has one. Legs are looked for only by a text as
 * long as a contract: to find them in 20,000 states took 0.5 s more than to compare the symbols.
 */
export const orderConditions = `($6::text is null or public.symbol_letters(o.symbol) = $6
    or case when length($6) >= ${shortestContract} and strpos(coalesce(o.kept_state::text, o.payload), '"legs"') > 0
      then exists (select from json_array_elements(case json_typeof(o.state -> 'instrument' -> 'legs') when 'array' then o.state -> 'instrument' -> 'legs' end) as leg where public.symbol_letters(leg ->> 'symbol') = $6) end)
  and ($7::text is null or o.status = $7) and o.updated_at >= $9::timestamptz and o.updated_at < $10::timestamptz
  and (num_nonnulls($11::text, $12::text, $13::text) = 0 or exists (select from ${fields}
    where ($11 is null or starts_with(s.side, $11)) and ($12 is null or s.origin = $12)
      and ($13 is null or strpos(${small(`concat_ws(E'\\n', o.order_id, s."clOrdId", s."clientOrderRef", s."venueOrderId", s."commandId", s."callerRef")`)}, ${small('$13')}) > 0)))`;

/** In a Turkish database `lower` makes another letter of I. */
function small(text: string): string {
  return `lower(translate(${text}, 'I', 'i'))`;
}

/** The value for $6. A leg names its contract: the order is listed under the underlying. */
export function symbolValue({ symbol }: OrderFilter): string | null {
  return symbol === undefined ? null : symbolLetters(symbol);
}

/** The values for $9 to $13. */
export function conditionValues({ since, until, side, origin, q }: OrderFilter): readonly (string | null)[] {
  return [since ?? '-infinity', until ?? 'infinity', side ?? null, origin ?? null, q ?? null];
}

/** Whether an order may be looked at and not shown. */
export function isSelective({ symbol, status, since, until, side, origin, q }: OrderFilter): boolean {
  return [symbol, status, since, until, side, origin, q].some((each) => each !== undefined);
}
