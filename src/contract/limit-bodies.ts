import { z } from 'zod';
import { parseDecimal } from '../domain/decimal.ts';
import { present } from '../domain/present.ts';
import { parseBody, platformIdText, positiveDecimal, principalText, symbolText } from './body-fields.ts';
import { reasonText } from './command-bodies.ts';
import { instant } from './normalised-order.ts';
import { instrumentKind, named, namedBody } from './words.ts';

const decimal = positiveDecimal.transform((text) => parseDecimal(text) ?? text);
const count = (most: number) => z.int('must be a whole number').min(0).max(most);
const symbols = z
  .array(symbolText(64).transform((symbol) => symbol.toUpperCase()))
  .max(1_000, 'must have at most 1000 symbols');

const bound = {
  maxQuantity: decimal.describe('Shares or contracts of one order'),
  maxNotional: decimal.describe('Money of one order, in USD; one in another currency is refused'),
  collarPercent: decimal.describe(
    'How far from the last quote each price of an order may lie, in percent of the quote',
  ),
  maxQuoteAgeMs: count(86_400_000).describe(
    'How old a quote may be; 10000 where the row of everyone does not say so, and a narrower row can only lower it',
  ),
  allowedSymbols: symbols.describe(
    'No others may be traded. An option is named by its underlying, by that of each leg',
  ),
  forbiddenSymbols: symbols,
  instruments: z.array(instrumentKind).describe('No others may be traded'),
  maxOpenOrders: count(1_000_000).describe('Open orders of the account, those included that may have been placed'),
  maxSymbolExposure: decimal.describe(
    'Money at work in one symbol of the account: open orders and what may have been placed, both sides added up',
  ),
  maxAccountExposure: decimal.describe('The same in all symbols of the account'),
  ordersPerMinute: count(1_000_000).describe(
    'Places and replaces of the account; in a row with a principal those of the principal',
  ),
  duplicateWindowMs: count(86_400_000).describe('A place of the same terms is refused for so long'),
};

const bounds = z
  .looseObject(bound)
  .partial()
  .meta({ id: 'Bounds', description: 'A bound that is left out is not set' });

/** `PATCH /v1/limits`. */
export const limitsBody = namedBody('ChangeLimitsRequest', 'New bounds of one scope', {
  principal: principalText.optional().describe('Whose commands. Left out: everyone’s'),
  accountId: platformIdText.optional().describe('Left out: on every account'),
  bounds: z
    .strictObject(
      Object.fromEntries(Object.entries(bound).map(([name, shape]) => [name, shape.nullable().optional()])) as {
        [Name in keyof typeof bound]: z.ZodOptional<z.ZodNullable<(typeof bound)[Name]>>;
      },
    )
    .refine((change) => Object.values(change).some((each) => each !== undefined), 'must name at least one bound')
    .describe('What is left out stays; null takes a bound away'),
  reason: reasonText,
});

export const limitList = named(
  'LimitList',
  'What places and replaces are held to: every row that matches a command holds',
  {
    items: z.array(
      named('Limit', 'The bounds of one scope', {
        principal: z.string().optional(),
        accountId: z.string().optional(),
        bounds,
        changedBy: z.string(),
        reason: z.string(),
        changedAt: instant,
      }),
    ),
  },
);
export type LimitLine = z.infer<typeof limitList>['items'][number];

export function parseLimitsChange(body: unknown) {
  return parseBody(limitsBody, body, ({ bounds: change, reason, ...scope }) => ({
    scope: present(scope),
    change,
    reason,
  }));
}
