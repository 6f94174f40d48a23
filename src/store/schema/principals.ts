import {
  bigint,
  check,
  customType,
  index,
  integer,
  json,
  pgTable,
  primaryKey,
  sql,
  text,
  timestamp,
  uniqueIndex,
} from '../drizzle.ts';

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/**
 * REST's static tokens, numbered for each principal. Only the hash is here: tokens are 256 random
 * bits, so a fast hash without salt is enough. A principal is its name and has no row of its own.
 * The rights are the token's, as in a JWT.
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
    /**
     * Null: no end. A revoked token has an end in the past; the end can only move to an earlier
     * time (a trigger).
     */
    expiresAt: timestamp('expires_at', { withTimezone: true }),
  },
  (t) => [
    primaryKey({ columns: [t.principal, t.number] }),
    uniqueIndex('principal_tokens_hash').on(t.tokenSha256),
    check('principal_tokens_sha256', sql`octet_length(${t.tokenSha256}) = 32`),
    check('principal_tokens_number', sql`${t.number} > 0`),
  ],
);

/**
 * Acts on the command side, with their principals. Append only (a trigger refuses every other
 * change, from every role).
 */
export const auditTrail = pgTable(
  'audit_log',
  {
    id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    at: timestamp({ withTimezone: true }).notNull(),
    principal: text().notNull(),
    action: text().notNull(),
    accountId: text('account_id'),
    /** As the caller wrote it: a refusal may name a command that never existed. */
    commandId: text('command_id'),
    requestId: text('request_id'),
    reason: text(),
    detail: json(),
    recordedAt: timestamp('recorded_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [index('audit_log_at').on(t.at)],
);
