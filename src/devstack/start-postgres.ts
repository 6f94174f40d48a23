import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';
import { dockerAnswers } from './docker.ts';
import { MissingPartError } from './missing-part-error.ts';
import type { RunningPostgres } from './running-postgres.ts';
import { postgresAnswers } from './running-postgres.ts';
import { startEmbeddedPostgres } from './start-embedded-postgres.ts';
import { startPostgresContainer } from './start-postgres-container.ts';

export interface StartPostgresOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** An address that was given wins, and is never replaced by something else when it does not answer. */
  readonly givenUrl?: string;
  /** Kept between runs; holds the parts that took long to fetch or build. */
  readonly cacheDir: string;
  /** Embedded only: where the data stays after `stop`. Absent: a temporary folder, removed afterwards. */
  readonly dataDir?: string;
  /** For tests: no fsync (see postgres-settings.ts). */
  readonly fast?: boolean;
}

/**
 * The real Postgres for demo, bench and tests: the given address, else a container where a Docker engine answers, else an embedded
 * one. Resolves when it answers. Throws `MissingPartError` with a sentence that says how to fix it.
 */
export async function startPostgres(options: StartPostgresOptions): Promise<RunningPostgres> {
  if (options.givenUrl !== undefined) return givenPostgres(options.givenUrl);
  const { dataDir, fast = false } = options;
  // Data that is to stay needs a folder of ours, not a container's.
  if (dataDir === undefined && (await dockerAnswers(options))) {
    try {
      return await startPostgresContainer(options, { fast });
    } catch (error) {
      options.log.warn(
        { err: error },
        'a Docker engine answers, but its Postgres did not start: starting an embedded one instead',
      );
    }
  }
  return startEmbeddedPostgres(options, { fast, ...(dataDir === undefined ? {} : { dataDir }) });
}

async function givenPostgres(url: string): Promise<RunningPostgres> {
  const where = URL.canParse(url) ? new URL(url).host : 'an address that is no URL';
  const answer = await postgresAnswers(url, 5_000);
  if (!answer.answers) {
    const sentence = `DATABASE_URL names a Postgres at ${where} that does not answer (${answer.error.message}): start it, or unset DATABASE_URL.`;
    throw new MissingPartError('postgres', sentence, { cause: answer.error });
  }
  return { kind: 'given', url, describe: `Postgres ${answer.version}, given, ${where}`, stop: () => Promise.resolve() };
}
