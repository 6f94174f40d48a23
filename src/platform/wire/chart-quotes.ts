import { z } from 'zod';
import { wireNumber } from './json-numbers.ts';

/** Query of `GET /v1/chart/quotes`. Specification: `symbols`. Assumption: several are separated by commas. */
export const chartQuotesQuery = z.object({ symbols: z.string().min(1) });

/** Specification, "Chart quote response": the names of all fields. Assumption: any of `v` may be absent. */
export const chartQuoteValues = z.looseObject({
  ask: wireNumber.optional(),
  bid: wireNumber.optional(),
  /** Change since the previous close. */
  ch: wireNumber.optional(),
  /** The same in percent. */
  chp: wireNumber.optional(),
  description: z.string().optional(),
  exchange: z.string().optional(),
  high_price: wireNumber.optional(),
  low_price: wireNumber.optional(),
  /** Last traded price. */
  lp: wireNumber.optional(),
  open_price: wireNumber.optional(),
  prev_close_price: wireNumber.optional(),
  short_name: z.string().optional(),
  volume: wireNumber.optional(),
});

export const chartQuote = z.looseObject({ n: z.string(), s: z.string(), v: chartQuoteValues });

/** `s` is `ok` on success. */
export const chartQuotes = z.looseObject({ s: z.string(), d: z.array(chartQuote) });

export const chartQuotesPath = '/v1/chart/quotes';

export type ChartQuote = z.infer<typeof chartQuote>;
