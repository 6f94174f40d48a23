import { z } from 'zod';
import { streams } from '../../domain/order.ts';
import { longestCursor } from '../../service/rest/cursor.ts';

/** An assistant reads every row it gets, so a page is small. */
export const pageLimit = z.int().min(1).max(50).default(20).describe('How many at most');

export const cursor = z
  .string()
  .min(1)
  .max(longestCursor)
  .optional()
  .describe('next of the page before, with the same filters');

export const streamOfOrder = z
  .enum(streams)
  .describe('As list_orders shows it. account: equities and options. prediction: prediction markets');
