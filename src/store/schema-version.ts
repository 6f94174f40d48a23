import type { ClientBase, Pool } from 'pg';
import { type Migration, readMigrations } from './migrations.ts';

export interface AppliedMigration {
  readonly when: number;
  readonly hash: string;
}

export type SchemaVersion =
  | { readonly kind: 'current' }
  /** These migrations of the build are not applied yet. */
  | { readonly kind: 'behind'; readonly pending: readonly Migration[] }
  /** A newer build migrated the database: this one must not write to it. */
  | { readonly kind: 'newer' }
  /** What was applied is not what this build has under that name. */
  | { readonly kind: 'foreign'; readonly detail: string };

/** Compares what a database has with what a build has. */
export function compareSchema(build: readonly Migration[], applied: readonly AppliedMigration[]): SchemaVersion {
  const newest = Math.max(0, ...build.map((m) => m.when));
  if (applied.some((a) => a.when > newest)) return { kind: 'newer' };
  const known = new Map(build.map((m) => [m.when, m]));
  for (const { when, hash } of applied) {
    const migration = known.get(when);
    if (migration === undefined)
      return { kind: 'foreign', detail: `a migration of ${when} was applied that this build does not have` };
    if (migration.hash !== hash) return { kind: 'foreign', detail: `${migration.tag} was changed after it was applied` };
  }
  const done = new Set(applied.map((a) => a.when));
  const pending = build.filter((m) => !done.has(m.when));
  return pending.length === 0 ? { kind: 'current' } : { kind: 'behind', pending };
}

/** What the database has; empty before the first migration. */
export async function readApplied(db: Pool | ClientBase): Promise<AppliedMigration[]> {
  const { rows: exists } = await db.query(`select to_regclass('drizzle.__drizzle_migrations') is not null as yes`);
  if (!exists[0]?.yes) return [];
  const { rows } = await db.query('select created_at, hash from drizzle.__drizzle_migrations order by created_at');
  return rows.map((row) => ({ when: Number(row.created_at), hash: String(row.hash) }));
}

/** For `/readyz` and `doctor`: is the database's schema this build's? Rejects when the database can't be reached. */
export async function readSchemaVersion(pool: Pool): Promise<SchemaVersion> {
  return compareSchema(await readMigrations(), await readApplied(pool));
}
