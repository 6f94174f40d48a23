import { createHash } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const root = join(import.meta.dirname, '../../..');

interface NewerMigration {
  readonly sql: string;
  /** This build may run on beside it. */
  readonly older: boolean;
}

/** Another build, as far as the one before can tell. */
interface NewerBuild {
  readonly version: string;
  /** What starts it. */
  readonly entry: string;
  /** Of its migrations that this build does not have. */
  readonly tags: readonly string[];
}

/**
 * This checkout under a higher version with further migrations, in a folder of its own: a real
 * program, gone with the test.
 */
export async function newerBuild(version: string, migrations: readonly NewerMigration[]): Promise<NewerBuild> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-newer-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const part of ['bin', 'src', 'drizzle']) await cp(join(root, part), join(folder, part), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ ...manifest, version }));
  const tags = await addMigrations(join(folder, 'drizzle'), migrations);
  return { version, entry: join(folder, 'bin/tidemark.js'), tags };
}

async function addMigrations(folder: string, migrations: readonly NewerMigration[]): Promise<string[]> {
  const journalFile = join(folder, 'meta/_journal.json');
  const olderFile = join(folder, 'older-builds.json');
  const journal = JSON.parse(await readFile(journalFile, 'utf8'));
  const older = JSON.parse(await readFile(olderFile, 'utf8'));
  const newest = journal.entries.at(-1);
  const tags: string[] = [];
  for (const { sql, older: mayRunOn } of migrations) {
    const idx = journal.entries.length;
    const tag = `${String(idx).padStart(4, '0')}_${createHash('sha256').update(sql).digest('hex').slice(0, 8)}`;
    await writeFile(join(folder, `${tag}.sql`), sql);
    journal.entries.push({ ...newest, idx, tag, when: newest.when + 1000 * (tags.length + 1) });
    older[tag] = mayRunOn ? newest.tag : null;
    tags.push(tag);
  }
  await writeFile(journalFile, JSON.stringify(journal));
  await writeFile(olderFile, JSON.stringify(older));
  return tags;
}
