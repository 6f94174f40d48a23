import { sql } from 'drizzle-orm';
import { boolean, check, index, integer, json, pgTable, text, timestamp, uniqueIndex, uuid } from 'drizzle-orm/pg-core';

/**
 * What each cancel-all set out to cancel, written before its first cancel, one row each, never deleted and never changed but for `key_held` and `ended_at` (trigger). The
 * list is what makes its key one: asked again later, it is about these orders and no others.
 */
export const cancelAlls = pgTable(
  'cancel_alls',
  {
    cancelAllId: uuid('cancel_all_id').primaryKey(),
    /** Its holder wrote it. Another lane has other accounts: the same key is another one there. */
    lane: integer().notNull(),
    principal: text().notNull(),
    idempotencyKey: text('idempotency_key').notNull(),
    /** False once the key may be used again: its cancels are final, and it is seven days old. */
    keyHeld: boolean('key_held').notNull().default(true),
    requestHash: text('request_hash').notNull(),
    /** `CancelAllSelection`. */
    selection: json().notNull(),
    reason: text().notNull(),
    onLanding: text('on_landing').notNull(),
    /** `OrderOfAccount[]`; the cancel of the one at place n has the key `cancel-all:<id>:<n>`. */
    orders: json().notNull(),
    /** `PlaceOfAccount[]`; the cancel of an order that one of them places has the key `cancel-all:<id>:<commandId>`. */
    places: json().notNull(),
    /** `UnreadAccount[]` */
    unread: json().notNull(),
    /** Accounts of which nothing was to be cancelled, and why. */
    declined: json().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    /** Null: in force. */
    endedAt: timestamp('ended_at', { withTimezone: true }),
  },
  (t) => [
    uniqueIndex('cancel_alls_one_per_key').on(t.lane, t.principal, t.idempotencyKey).where(sql`${t.keyHeld}`),
    index('cancel_alls_key_held').on(t.createdAt).where(sql`${t.keyHeld}`),
    index('cancel_alls_in_force').on(t.lane, t.createdAt).where(sql`${t.endedAt} is null`),
    check('cancel_alls_on_landing', sql`${t.onLanding} in ('cancel', 'leave')`),
  ],
);
