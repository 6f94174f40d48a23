import { Decimal } from 'decimal.js';
import { z } from 'zod';

/**
 * Numbers of the market data endpoints, which send prices as JSON numbers (specification, "Chart quote response") where order entry sends strings. Readers
 * get text: `parseJson` has kept every digit of a number that a double cannot hold, and a double that came through shows the digits that were sent.
 */
export const wireNumber = z
  .union([z.number(), z.string().regex(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,4})?$/)])
  .transform((value) => new Decimal(value).toFixed());

/** An integer of up to 64 bits as its digits: a nanosecond timestamp is beyond 2^53. */
export const wireInteger = z.union([z.int(), z.string().regex(/^-?\d{1,19}$/)]).transform(String);
