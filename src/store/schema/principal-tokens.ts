import { sql } from 'drizzle-orm';
import { check, customType, integer, pgTable, primaryKey, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core';

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/**
 * Static tokens of REST, numbered for each principal. Only the hash is here: tokens are 256 random bits, so a fast hash without salt is enough.
 * A principal is its name and has no row of its own: rights are the token's, as they are in a JWT.
 */
export const principalTokens = pgTable(
  'principal_tokens',
  {
    principal: text().notNull(),
    number: integer().notNull(),
    /** SHA-256 of the token, 32 bytes. */
    tokenSha256: bytea('token_sha256').notNull(),
    scopes: text().array().notNull(),
    /** Null: every account. */
    accounts: text().array(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    /** Null: no end. A revoked token has one that is past; it only ever moves to an earlier time (a trigger). */
    expiresAt: timestamp('expires_at', { withTimezone: true }),
  },
  (t) => [
    primaryKey({ columns: [t.principal, t.number] }),
    uniqueIndex('principal_tokens_hash').on(t.tokenSha256),
    check('principal_tokens_sha256', sql`octet_length(${t.tokenSha256}) = 32`),
    check('principal_tokens_number', sql`${t.number} > 0`),
  ],
);
