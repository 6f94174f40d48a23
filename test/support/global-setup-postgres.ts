import type { TestProject } from 'vitest/node';
import { startPostgres } from '../../src/devstack/start-postgres.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { cacheDir } from './cache-dir.ts';
import { shared } from './shared-part.ts';
import { testLog } from './test-log.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A database of the server on which tests make their own (see database.ts). */
    postgresUrl: string;
  }
}

/** One real Postgres for all tests of the run: DATABASE_URL where it is set, else a container, else embedded. Without one the run fails. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const givenUrl = process.env['DATABASE_URL'];
  const { part, release } = await shared('postgres', () =>
    startPostgres({ clock: systemClock, log: testLog, cacheDir, fast: true, ...(givenUrl ? { givenUrl } : {}) }),
  );
  project.provide('postgresUrl', part.url);
  return release;
}
