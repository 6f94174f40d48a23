import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export interface Migration {
  /** `0000_baseline`: the file's name. */
  readonly tag: string;
  /** When it was generated, milliseconds since the epoch: drizzle's own key for it. */
  readonly when: number;
  readonly hash: string;
  readonly statements: readonly string[];
  /** `when` of the migration that an older build must have at least to run on once this one is applied. Left out, or its own: no older build may. */
  readonly needs?: number;
}

/** Tag of a migration → the oldest one whose build may run on beside it; null, or not named: none. */
export type OlderBuilds = Readonly<Record<string, string | null>>;

/** The same relative place in a checkout (src/store) and in the package (dist/store). */
const folder = fileURLToPath(new URL('../../drizzle', import.meta.url));

interface JournalEntry {
  readonly tag: string;
  readonly when: number;
}

/** The migrations of this build, oldest first, from drizzle's journal. */
export async function readMigrations(): Promise<Migration[]> {
  const { entries } = JSON.parse(await readFile(`${folder}/meta/_journal.json`, 'utf8')) as { entries: JournalEntry[] };
  const olderBuilds = await readOlderBuilds();
  return Promise.all(
    entries.map(async (entry) => {
      const { tag, when } = entry;
      const text = await readFile(`${folder}/${tag}.sql`, 'utf8');
      // The way drizzle-orm hashes a file, so that `drizzle-kit` and we read the same books.
      const hash = createHash('sha256').update(text).digest('hex');
      return {
        tag,
        when,
        hash,
        statements: text.split('--> statement-breakpoint'),
        needs: neededBy(entry, entries, olderBuilds),
      };
    }),
  );
}

/** Beside the migrations, not in them: it can be said of one later than it was written, and drizzle may write its file anew. */
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
