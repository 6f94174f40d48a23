import { sql } from 'drizzle-orm';
import { check, customType, pgTable, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core';

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** Holders of static tokens. Only the hash is here: tokens are 256 random bits, so a fast hash without salt is enough. */
export const principals = pgTable(
  'principals',
  {
    name: text().primaryKey(),
    /** SHA-256 of the token, 32 bytes. */
    tokenSha256: bytea('token_sha256').notNull(),
    scopes: text().array().notNull(),
    /** Null: every account. */
    accounts: text().array(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    revokedAt: timestamp('revoked_at', { withTimezone: true }),
  },
  (t) => [uniqueIndex('principals_token').on(t.tokenSha256), check('principals_hash', sql`octet_length(${t.tokenSha256}) = 32`)],
);
