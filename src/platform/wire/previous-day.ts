import { z } from 'zod';
import { wireInteger, wireNumber } from './json-numbers.ts';

/** Query of `GET /v1/stocks/prev`. Specification: the meaning. Assumption: the names, and that `adjusted` is true when left out. */
export const previousDayQuery = z.object({ ticker: z.string().min(1), adjusted: z.boolean().optional() });

/** Specification, "Previous-day bar response". Assumption: `n` trades, `t` milliseconds since the epoch at the close, `vw` the average by volume. */
export const dayBar = z.looseObject({
  T: z.string().optional(),
  o: wireNumber,
  h: wireNumber,
  l: wireNumber,
  c: wireNumber,
  v: wireNumber,
  n: wireInteger.optional(),
  t: wireInteger.optional(),
  vw: wireNumber.optional(),
});

/** `status` other than `OK` is an error. */
export const previousDay = z.looseObject({
  adjusted: z.boolean().optional(),
  queryCount: wireInteger.optional(),
  resultsCount: wireInteger.optional(),
  requestId: z.string().optional(),
  status: z.string(),
  ticker: z.string().optional(),
  results: z.array(dayBar).default([]),
});

export const previousDayPath = '/v1/stocks/prev';

export type DayBar = z.infer<typeof dayBar>;
export type PreviousDay = z.infer<typeof previousDay>;
