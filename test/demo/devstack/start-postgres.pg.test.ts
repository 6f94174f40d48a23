import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { dockerAnswers } from '../../../src/demo/devstack/docker.ts';
import { startEmbeddedPostgres, startPostgres } from '../../../src/demo/devstack/start-postgres.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { ownFolder } from '../../support/runs/running-demo.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { onServer } from '../../support/servers/on-server.ts';

const deps = { clock: systemClock, log: testLog, cacheDir: '/nowhere' };

it('an address that is given wins, and is left running', async () => {
  const givenUrl = inject('postgresUrl');
  const postgres = await startPostgres({ ...deps, givenUrl });
  expect([postgres.kind, postgres.url, postgres.pid]).toEqual(['given', givenUrl, undefined]);
  await postgres.stop();
  expect((await onServer(givenUrl, (client) => client.query('select 1 as n'))).rows).toEqual([{ n: 1 }]);
});

it('without an address it is a container where an engine answers, and embedded where none does or its image cannot be had', async () => {
  const kinds = (await dockerAnswers(deps)) ? ['container', 'embedded'] : ['embedded'];
  const postgres = await startPostgres(deps);
  try {
    expect(kinds).toContain(postgres.kind);
    expect((await onServer(postgres.url, (client) => client.query('show fsync'))).rows).toEqual([{ fsync: 'on' }]);
    expect(postgres.describe).not.toContain(new URL(postgres.url).password);
  } finally {
    await postgres.stop();
  }
});

it('a Postgres that ends before it answers says its own reason', async () => {
  const dataDir = ownFolder();
  mkdirSync(join(dataDir, 'data'));
  writeFileSync(join(dataDir, 'data', 'PG_VERSION'), '9.1\n');
  writeFileSync(join(dataDir, 'password'), 'secret');
  await expect(startEmbeddedPostgres(deps, { fast: true, dataDir })).rejects.toMatchObject({
    message: expect.stringMatching(/^embedded postgres did not answer: /),
    fix: expect.stringContaining('postgresql.conf'),
  });
});
