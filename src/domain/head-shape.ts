import { registerFields } from './account-join.ts';
import { isInstant } from './instant.ts';
import {
  type FieldRule,
  type FieldsWith,
  fieldsWhere,
  type Order,
  orderStatuses,
  orderTable,
  streams,
} from './order.ts';
import { type Check, count, decimal, faultOf, fields, listOf, maybe, natural, object, oneOf, text } from './shape.ts';

const kind = oneOf('equity', 'option', 'prediction');
export const legs = listOf(fields({ symbol: text, side: text, ratioQty: decimal, positionEffect: maybe(text) }));
const told = (value: Check): Check => maybe(fields({ cumQty: decimal, updatedAt: isInstant, value }));
const byStatus = (value: Check): Check => maybe((ends) => object(ends) && Object.values(ends as object).every(value));

export const working = fields({ quantity: maybe(decimal), price: maybe(decimal), orderType: maybe(text) });

const byKind = { text, decimal, instant: isInstant, natural } as const;

const ownForms: Readonly<Record<FieldsWith<{ kind: 'own form' }>, Check>> = {
  stream: oneOf(...streams),
  instrument: fields({ kind, symbol: text, outcome: maybe(text), legs: maybe(legs) }),
  status: oneOf(...orderStatuses),
  working,
  origin: oneOf('tidemark', 'external'),
  extra: maybe(object),
};

function checksOf(names: readonly (keyof Order)[]): Record<string, Check> {
  const checks = names.map((name): [string, Check] => {
    const rule: FieldRule = orderTable[name];
    if (rule.kind === 'own form') return [name, ownForms[name as keyof typeof ownForms]];
    return [name, rule.required === true ? byKind[rule.kind] : maybe(byKind[rule.kind])];
  });
  return Object.fromEntries(checks);
}

const orderChecks = checksOf(fieldsWhere(() => true));

/** For both streams: the other one's fields are absent. */
const joinChecks = {
  openedAt: maybe(isInstant),
  winner: maybe(
    fields({
      ...{ status: oneOf(...orderStatuses), statusRaw: text, pendingAction: text },
      ...{ leavesQty: maybe(decimal), avgPrice: maybe(decimal) },
    }),
  ),
  ...{ terminals: byStatus(text), endedAt: byStatus(isInstant), terminalCumQty: maybe(decimal) },
  priced: maybe(fields({ cumQty: decimal, updatedAt: isInstant, avgPrice: decimal })),
  instrument: maybe(fields({ kind, outcome: told(text), legs: told(legs), effects: told(legs) })),
  leastWorking: maybe(decimal),
  carried: maybe(fields(checksOf(registerFields))),
  correction: maybe(fields({ epoch: count, readAt: isInstant, undone: maybe(isInstant) })),
  ...{
    formerly: maybe(text),
    side: maybe(text),
    incarnation: maybe(natural),
    former: maybe(text),
    inQuestion: maybe((it) => it === true),
  },
};

/**
 * The first field no build of ours could have written into a stored head; undefined: reduction may
 * build upon it. A newer build's word counts as such a field if reduction depends on it. Asked only
 * for heads read back: 7 µs for an order, while its JSON took 10 to parse, and the schema for REST
 * answers 11.
 */
export function faultIn({ order, join }: { readonly order: unknown; readonly join: unknown }): string | undefined {
  return faultOf('state', orderChecks, order) ?? faultOf('join', joinChecks, join);
}
