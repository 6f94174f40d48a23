import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export interface Migration {
  /** `0000_tables`: the file's name. */
  readonly tag: string;
  /** When it was generated, milliseconds since the epoch: drizzle's own key for it. */
  readonly when: number;
  readonly hash: string;
  readonly statements: readonly string[];
}

/** The same relative place in a checkout (src/store) and in the package (dist/store). */
const folder = fileURLToPath(new URL('../../drizzle', import.meta.url));

/** The migrations of this build, oldest first, from drizzle's journal. */
export async function readMigrations(): Promise<Migration[]> {
  const journal = JSON.parse(await readFile(`${folder}/meta/_journal.json`, 'utf8')) as {
    entries: { tag: string; when: number }[];
  };
  return Promise.all(
    journal.entries.map(async ({ tag, when }) => {
      const text = await readFile(`${folder}/${tag}.sql`, 'utf8');
      // The way drizzle-orm hashes a file, so that `drizzle-kit` and we read the same books.
      const hash = createHash('sha256').update(text).digest('hex');
      return { tag, when, hash, statements: text.split('--> statement-breakpoint') };
    }),
  );
}
