import { z } from 'zod';
import { limitNames } from '../domain/limits.ts';
import { decimal, instant } from './normalised-order.ts';
import { named, stream } from './words.ts';

const breach = named('LimitReading', 'One limit that applies, and what the order makes of it', {
  limit: z.enum([...limitNames, 'required']).describe('`required`: a real account lacks a bound that it must have'),
  bound: z
    .string()
    .describe('The tightest of all rows that hold; of `required`, the names of the bounds that are missing'),
  value: z
    .string()
    .optional()
    .describe('What it would be with this order. Left out: there is nothing to compare, or `why` says it'),
  why: z.string().optional().describe('Why the value can’t be computed, which refuses as well'),
  broken: z.boolean().describe('The command would be refused'),
});

const quote = named('PreviewQuote', 'The platform’s quote of one instrument that the order would trade', {
  kind: z.enum(['equity', 'option']),
  symbol: z.string(),
  bid: decimal.optional(),
  ask: decimal.optional(),
  last: decimal.optional().describe('The last price; an option has none'),
  ageMs: z
    .int()
    .optional()
    .describe(
      'Since it was made, or since it was read where the platform does not say that. Left out: there is no quote',
    ),
});

const refusal = named('PreviewRefusal', 'One reason why the command would be declined now', {
  code: z.string().describe('As the command answers it'),
  message: z.string(),
  retryAfterMs: z.int().optional(),
});

export const previewAnswer = named(
  'OrderPreview',
  'What a place or a replace would come to at this moment; it promises nothing for the next one',
  {
    stream,
    accountId: z.string(),
    terms: z.record(z.string(), z.unknown()).describe('What would be asked for; decimals in canonical form'),
    quantity: decimal
      .optional()
      .describe('Shares, or whole contracts of all legs; of a replace only where it raises them'),
    value: decimal
      .nullable()
      .describe('The most that the order can trade, in USD, as limits count it. Null: `noValue` says why'),
    noValue: z.string().optional().describe('Why it has no value'),
    quotes: z.array(quote).describe('Empty for a replace, and for a prediction market, which has none'),
    limits: z.array(breach).describe('Every limit that applies, in the order in which the command is judged'),
    refusals: z
      .array(refusal)
      .describe(
        'All that would decline the command now; the first is the answer that it would get. Empty: it would be sent',
      ),
    at: instant,
  },
);
export type PreviewAnswer = z.infer<typeof previewAnswer>;
