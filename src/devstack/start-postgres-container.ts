import { randomBytes } from 'node:crypto';
import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';
import { loopbackContainer } from './docker.ts';
import type { RunningPostgres } from './running-postgres.ts';
import { awaitPostgres, postgresSettings } from './running-postgres.ts';

export const postgresImage = 'postgres:18';
const port = 5432;

/** A Postgres in a container, on a free port of the loopback address. testcontainers' own watcher removes it when we are killed. */
export async function startPostgresContainer(
  deps: { readonly clock: Clock; readonly log: Log },
  options: { readonly fast: boolean },
): Promise<RunningPostgres> {
  const password = randomBytes(18).toString('base64url');
  const { Wait } = await import('testcontainers');
  const { container: description, host } = await loopbackContainer(postgresImage);
  const container = await description
    .withEnvironment({ POSTGRES_PASSWORD: password, POSTGRES_DB: 'tidemark' })
    .withCommand(['postgres', ...postgresSettings(options.fast)])
    .withExposedPorts(port)
    // The default of 64 MB is too small for a parallel query over a few million rows.
    .withSharedMemorySize(512 * 1024 * 1024)
    // Once during the image's own setup, without a TCP port, and once for good.
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
    .withStartupTimeout(120_000)
    .start();
  const address = `${host}:${container.getMappedPort(port)}`;
  const url = `postgres://postgres:${password}@${address}/tidemark`;
  const answer = await awaitPostgres(deps, { url, limitMs: 30_000, ended: new Promise(() => undefined) });
  if (!answer.answers) {
    await container.stop();
    throw answer.error;
  }
  let stopping: Promise<unknown> | undefined;
  return {
    kind: 'container',
    url,
    describe: `Postgres ${answer.version}, container ${container.getId().slice(0, 12)} of ${postgresImage}, ${address}`,
    async stop() {
      stopping ??= container.stop();
      await stopping;
    },
  };
}
