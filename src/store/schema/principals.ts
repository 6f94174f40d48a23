import { bytea, int8, pg, sql, timestamptz } from '../drizzle.ts';

/**
 * REST's static tokens, numbered for each principal. Only the hash is here: tokens are 256 random
 * bits, so a fast hash without salt is enough. A principal is its name and has no row of its own.
 * The rights are the token's, as in a JWT.
 */
export const principalTokens = pg.pgTable(
  'principal_tokens',
  {
    principal: pg.text().notNull(),
    number: pg.integer().notNull(),
    /** SHA-256 of the token, 32 bytes. */
    tokenSha256: bytea().notNull(),
    scopes: pg.text().array().notNull(),
    /** Null: every account. */
    accounts: pg.text().array(),
    createdAt: timestamptz().notNull().defaultNow(),
    /**
     * Null: no end. A revoked token has an end in the past; the end can only move to an earlier
     * time (a trigger).
     */
    expiresAt: timestamptz(),
  },
  (t) => [
    pg.primaryKey({ columns: [t.principal, t.number] }),
    pg.uniqueIndex('principal_tokens_hash').on(t.tokenSha256),
    pg.check('principal_tokens_sha256', sql`octet_length(${t.tokenSha256}) = 32`),
    pg.check('principal_tokens_number', sql`${t.number} > 0`),
  ],
);

/**
 * Acts on the command side, with their principals. Append only (a trigger refuses every other
 * change, from every role).
 */
export const auditTrail = pg.pgTable(
  'audit_log',
  {
    id: int8().primaryKey().generatedAlwaysAsIdentity(),
    at: timestamptz().notNull(),
    principal: pg.text().notNull(),
    action: pg.text().notNull(),
    accountId: pg.text(),
    /** As the caller wrote it: a refusal may name a command that never existed. */
    commandId: pg.text(),
    requestId: pg.text(),
    reason: pg.text(),
    detail: pg.json(),
    recordedAt: timestamptz().notNull().defaultNow(),
  },
  (t) => [pg.index('audit_log_at').on(t.at)],
);
