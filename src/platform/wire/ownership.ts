import { z } from 'zod';
import { wireInteger, wireNumber } from './json-numbers.ts';

/** Query of `GET /v1/ownership/data`. Specification: the meaning. Assumption: the names, that `symbol` is required, and the bounds of `limit`. */
export const ownershipQuery = z.object({ symbol: z.string().min(1), limit: z.int().min(1).max(1000).optional() });

/** Specification, "Ownership record": every field. Assumption: `change` and `share` count shares. */
export const owner = z.looseObject({
  name: z.string(),
  share: wireInteger,
  change: wireInteger,
  /** YYYY-MM-DD. */
  filingDate: z.string(),
  percentOfShares: wireNumber,
  /** May be empty. */
  source: z.string(),
});

export const ownership = z.looseObject({ data: z.array(owner) });

export const ownershipPath = '/v1/ownership/data';

export type OwnershipQuery = z.infer<typeof ownershipQuery>;
export type Owner = z.infer<typeof owner>;
