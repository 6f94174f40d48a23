import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { startPostgres } from '../../../src/demo/devstack/start-postgres.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { testLog } from '../runs/test-log.ts';
import { cacheDir } from './cache-dir.ts';
import { onServer, withDatabase } from './on-server.ts';
import { shared } from './shared-part.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A database of the server on which tests make their own (see database.ts). */
    postgresUrl: string;
    /**
     * Name of a migrated database to copy from. Nobody may connect
     * to it: a copy fails while somebody is.
     */
    postgresTemplate: string;
  }
}

/**
 * One real Postgres for all tests of the run: DATABASE_URL where it is set, else a container, else
 * embedded. Without one the run fails.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { part, release } = await shared('postgres', startWithTemplate);
  project.provide('postgresUrl', part.url);
  project.provide('postgresTemplate', part.template);
  return release;
}

async function startWithTemplate() {
  const givenUrl = process.env['DATABASE_URL'];
  const { url, stop } = await startPostgres({
    ...{ clock: systemClock, log: testLog, cacheDir, fast: true },
    ...(givenUrl ? { givenUrl } : {}),
  });
  const template = `template_${randomBytes(8).toString('hex')}`;
  try {
    await onServer(url, (client) => client.query(`create database ${template}`));
    await migrate({ url: withDatabase(url, template), log: testLog, clock: systemClock });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url,
    template,
    // On a given server the template would stay behind.
    async stop() {
      await onServer(url, (client) => client.query(`drop database if exists ${template} with (force)`)).finally(stop);
    },
  };
}
