import { z } from 'zod';
import { type Fixed, parseFixed } from '../exchange/wire-text.ts';

const fields = {
  /** Milliseconds until the venue answers a new order, an amend or a cancel; `manual`: only when the control port says so. */
  answerMs: z.union([z.number().int().min(0).max(600_000), z.literal('manual')]),
  /** The share of new orders, amends and cancels that the venue refuses. */
  refuseShare: z.number().min(0).max(1),
  /** Units that one print offers on average: smaller ones fill orders in more parts. */
  depth: z.number().int().min(0).max(1_000_000_000),
  /** Prediction orders that may wait for the venue at a time; beyond it order entry is at capacity. */
  capacity: z.number().int().min(0).max(10_000_000),
  /** Whether the session with the venue is up. */
  session: z.enum(['up', 'down']),
  /** The most that one order may be worth, as a decimal string. */
  orderLimit: z.string().refine((text) => (parseFixed(text) ?? 0n) > 0n, 'a plain decimal string above zero'),
} as const;

/** `venue` of a scenario. */
export const venueOptions = z
  .strictObject({
    answerMs: fields.answerMs.default(20),
    refuseShare: fields.refuseShare.default(0),
    depth: fields.depth.default(500),
    capacity: fields.capacity.default(1000),
    session: fields.session.default('up'),
    orderLimit: fields.orderLimit.default('1000000000'),
  })
  .prefault({});

/** Body of `POST /venue`: a field that is left out stays. */
export const venueChange = z.strictObject(fields).partial();

export type VenueOptions = z.output<typeof venueOptions>;
export type VenueChange = z.output<typeof venueChange>;

/** Quantity times price against the limit. */
export function exceedsLimit(options: VenueOptions, quantity: Fixed, price: Fixed): boolean {
  return quantity * price > (parseFixed(options.orderLimit) ?? 0n) * 10n ** 12n;
}
