import { z } from 'zod';
import { canonicalReference } from '../domain/canonical-terms.ts';
import { commandKinds, commandStates } from '../domain/command.ts';
import { parseInstant } from '../domain/instant.ts';
import { orderStatuses, streams } from '../domain/order.ts';
import { plainTextField, platformIdText, searchedSymbol } from './body-fields.ts';
import { type Filter, type FilterOf, type Filters, nameOn } from './list-filters.ts';
import { commandKind, commandState, orderStatus, stream } from './words.ts';

// Parameters are text: each shape says which text it takes, and gives the route a value.

export const flagText = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .meta({ type: 'boolean', enum: undefined });

/** The last microsecond with a four-digit year, in Postgres and ISO 8601. */
const lastMicros = 253_402_300_799_999_999n;
const notAnInstant = 'must be a time in ISO 8601 with its zone, from 1970 on';

/** A time. The route gets it in UTC with microseconds, as the database keeps it. */
export const searchedInstant = z
  .string()
  .max(40, notAnInstant)
  .transform((text, check) => {
    const micros = (parseInstant(text) ?? -1n) / 1_000n;
    if (parseInstant(text) !== undefined && micros >= 0n && micros <= lastMicros) return microsText(micros);
    check.addIssue(notAnInstant);
    return z.NEVER;
  })
  .meta({ type: 'string', format: 'date-time' });

function microsText(micros: bigint): string {
  const millis = new Date(Number(micros / 1_000n)).toISOString().slice(0, -1);
  return `${millis}${String(micros % 1_000n).padStart(3, '0')}Z`;
}

const texts = {
  account: platformIdText,
  symbol: searchedSymbol,
  time: searchedInstant,
  search: z.string().regex(/^[^\p{Cc}]{1,128}$/u, 'must be 1 to 128 characters without line breaks'),
  key: z.string().regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 visible ASCII characters'),
  reference: plainTextField(1, 64).overwrite(canonicalReference),
} as const;

/** Words with a name in OpenAPI. */
const named: ReadonlyMap<readonly string[], z.ZodType> = new Map<readonly string[], z.ZodType>([
  [streams, stream],
  [orderStatuses, orderStatus],
  [commandKinds, commandKind],
  [commandStates, commandState],
]);

function shapeOf({ takes }: Filter, flag: z.ZodType): z.ZodType {
  if (takes === 'flag') return flag;
  return typeof takes === 'string' ? texts[takes] : (named.get(takes) ?? z.enum(takes));
}

/** The filters as a route's parameters. */
export function queryShape<All extends Filters>(
  filters: All,
): { [name in keyof All]: z.ZodExactOptional<z.ZodType<Exclude<FilterOf<All>[name], undefined>>> } {
  const shapes = Object.entries(filters).map(([name, filter]) => [
    name,
    shapeOf(filter, flagText).exactOptional().describe(filter.about),
  ]);
  return Object.fromEntries(shapes) as ReturnType<typeof queryShape<All>>;
}

/** The filters as an assistant's input: a flag is a JSON boolean. */
export function toolShape(filters: Filters): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(filters).map(([name, filter]) => [
      nameOn('tool', name, filter),
      shapeOf(filter, z.boolean())
        .exactOptional()
        .describe(filter.off?.about ?? filter.about),
    ]),
  );
}
