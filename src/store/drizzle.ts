import { createRequire } from 'node:module';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { Pool } from 'pg';

// The parts we use from drizzle-orm, in its CommonJS build with files that end in `.cjs`. To learn
// a `.js` file's kind, Node parses the package's 176 kB of `exports` anew for each of 106 files.
// That takes 0.69 to 1.0 s of processor time; this takes 0.10 to 0.14 s.

const load = createRequire(import.meta.url);
const core = load('drizzle-orm') as typeof import('drizzle-orm');
const connection = load('drizzle-orm/node-postgres') as typeof import('drizzle-orm/node-postgres');

export type Database = NodePgDatabase;

/** Columns are named as the fields, in snake case; `drizzle.config.ts` says the same. */
export const drizzle = (pool: Pool): Database => connection.drizzle(pool, { casing: 'snake_case' });

export const { and, asc, count, desc, eq, gt, inArray, isNotNull, isNull, max, or, sql } = core;

/** The columns, keys and indexes of tables. */
export const pg = load('drizzle-orm/pg-core') as typeof import('drizzle-orm/pg-core');

export const timestamptz = () => pg.timestamp({ withTimezone: true });
export const int8 = () => pg.bigint({ mode: 'bigint' });
export const bytea = pg.customType<{ data: Buffer }>({ dataType: () => 'bytea' });
