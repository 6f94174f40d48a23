import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ClientBase, Pool } from 'pg';
import { packageFile } from '../runtime/package-file.ts';

export interface Migration {
  /** `0001_written_once`: the file's name. */
  readonly tag: string;
  /** When it was generated, milliseconds since the epoch: drizzle's own key for it. */
  readonly when: number;
  readonly hash: string;
  readonly statements: readonly string[];
  /**
   * An older build may run on once this migration is applied, if it has the migration with this
   * `when`. Left out, or this migration's own `when`: no older build may.
   */
  readonly needs?: number;
  /**
   * The baseline was edited in place while databases had it: the hash of then, and the way to the
   * hash of now. It is the first part of the next migration, so one that fails changes nothing.
   */
  readonly earlier?: Pick<Migration, 'hash' | 'statements'>;
}

/** Commit 7f45e156. No way leads from the texts between it and the first build's. */
const earlierBaseline = {
  of: '0000_baseline',
  way: '0000_from_7f45e156',
  hash: '0dca1ffa98768135eded4311fd13cbcff936405bbd5cbea865c75510038ba226',
};

/**
 * A migration's tag → the oldest migration whose build may run on beside it; null, or not named:
 * none.
 */
type OlderBuilds = Readonly<Record<string, string | null>>;

const folder = packageFile('drizzle');

interface JournalEntry {
  readonly tag: string;
  readonly when: number;
}

/** This build's migrations, oldest first, from drizzle's journal. */
export async function readMigrations(): Promise<Migration[]> {
  const { entries } = JSON.parse(await readFile(`${folder}/meta/_journal.json`, 'utf8')) as { entries: JournalEntry[] };
  const olderBuilds = await readOlderBuilds();
  return Promise.all(
    entries.map(async (entry) => {
      const { tag, when } = entry;
      const text = await readText(tag);
      // The same hash as in drizzle-orm, so `drizzle-kit` and we read the same table.
      const hash = createHash('sha256').update(text).digest('hex');
      return {
        tag,
        when,
        hash,
        statements: statementsOf(text),
        needs: neededBy(entry, entries, olderBuilds),
        ...(tag === earlierBaseline.of && {
          earlier: { hash: earlierBaseline.hash, statements: statementsOf(await readText(earlierBaseline.way)) },
        }),
      };
    }),
  );
}

const readText = (tag: string) => readFile(`${folder}/${tag}.sql`, 'utf8');
const statementsOf = (text: string) => text.split('--> statement-breakpoint');

/** What a person does about a `foreign` one. */
export const foreignSchemaFix =
  'Check that DATABASE_URL names the right database. One that no commit named in docs/upgrading.md made stays as it is: ' +
  'begin with a new database and another TIDEMARK_TOPIC_PREFIX, and the orders are read from the platform again.';

/**
 * In a file beside the migrations, not in them. It may be set later than the migration was written,
 * and drizzle may write its own file anew.
 */
export async function readOlderBuilds(): Promise<OlderBuilds> {
  return JSON.parse(await readFile(`${folder}/older-builds.json`, 'utf8')) as OlderBuilds;
}

function neededBy({ tag, when }: JournalEntry, entries: readonly JournalEntry[], olderBuilds: OlderBuilds): number {
  const oldest = olderBuilds[tag];
  if (oldest === undefined || oldest === null) return when;
  const needed = entries.find((entry) => entry.tag === oldest);
  if (needed === undefined) throw new Error(`older-builds.json: there is no migration ${oldest}, which ${tag} names`);
  return needed.when;
}

interface AppliedMigration {
  readonly when: number;
  readonly hash: string;
  /**
   * Recorded by the build that applied it. A build may run beside it if it has the migration with
   * this `when`. Undefined: it was not recorded.
   */
  readonly needs?: number;
}

export type SchemaVersion =
  | { readonly kind: 'current' }
  /**
   * A newer build migrated the database. It recorded for each new migration that this build may run
   * on.
   */
  | { readonly kind: 'ahead'; readonly by: number }
  /** These migrations in the build are not applied yet. */
  | { readonly kind: 'behind'; readonly pending: readonly Migration[] }
  /**
   * A newer build migrated the database, and did not record that this one may run on. This build
   * must not write to it.
   */
  | { readonly kind: 'newer' }
  /** An applied migration differs from this build's one under that name. */
  | { readonly kind: 'foreign'; readonly detail: string };

/** Compares a database's migrations with a build's. */
export function compareSchema(build: readonly Migration[], applied: readonly AppliedMigration[]): SchemaVersion {
  const newest = Math.max(0, ...build.map((m) => m.when));
  const later = applied.filter((a) => a.when > newest);
  if (later.some(({ needs = Number.POSITIVE_INFINITY }) => needs > newest)) return { kind: 'newer' };
  const known = new Map(build.map((m) => [m.when, m]));
  const way: string[] = [];
  for (const { when, hash } of applied) {
    if (when > newest) continue;
    const migration = known.get(when);
    if (migration === undefined)
      return { kind: 'foreign', detail: `a migration of ${when} was applied that this build does not have` };
    if (migration.hash === hash) continue;
    const { tag, earlier } = migration;
    if (earlier?.hash !== hash || applied.length > 1)
      return { kind: 'foreign', detail: `${tag} was another one when it was applied (sha256 ${hash.slice(0, 8)})` };
    way.push(...earlier.statements);
  }
  const done = new Set(applied.map((a) => a.when));
  const pending = build
    .filter((m) => !done.has(m.when))
    .map((m, index) => (index === 0 && way.length > 0 ? { ...m, statements: [...way, ...m.statements] } : m));
  if (later.length === 0) return pending.length === 0 ? { kind: 'current' } : { kind: 'behind', pending };
  // A build that also lacks an older migration belongs to another line. The newer one's record does
  // not cover it.
  return pending.length === 0 ? { kind: 'ahead', by: later.length } : { kind: 'newer' };
}

/** The migrations applied in the database; empty before the first one. */
export async function readApplied(db: Pool | ClientBase): Promise<AppliedMigration[]> {
  const { rows: exists } = await db.query(`select to_regclass('drizzle.__drizzle_migrations') is not null as yes`);
  if (!exists[0]?.yes) return [];
  // Read as JSON: an older build's table has no such column.
  const { rows } = await db.query(
    `select created_at, hash, to_jsonb(m) ->> 'needs' as needs from drizzle.__drizzle_migrations m order by created_at`,
  );
  return rows.map(({ created_at: when, hash, needs }) => ({
    when: Number(when),
    hash: String(hash),
    ...(needs === null ? {} : { needs: Number(needs) }),
  }));
}

/** This build may work on the database. */
export function fits(version: SchemaVersion): boolean {
  return version.kind === 'current' || version.kind === 'ahead';
}

/**
 * For `/readyz` and `doctor`: is the database's schema this build's?
 * Rejects when the database can't be reached.
 */
export async function readSchemaVersion(pool: Pool): Promise<SchemaVersion> {
  return compareSchema(await readMigrations(), await readApplied(pool));
}
