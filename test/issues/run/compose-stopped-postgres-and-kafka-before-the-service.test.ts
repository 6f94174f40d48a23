// What a user saw: `docker compose stop` stopped Postgres and Kafka too early, and the service ended with 1.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const service = z.object({
  environment: z.record(z.string(), z.string()).default({}),
  depends_on: z.record(z.string(), z.unknown()).default({}),
});

/**
 * The service waited for the jobs alone, and they for Postgres and Kafka. At the start that is the
 * same; at the end Compose asked only who depends on whom among what still runs, stopped Postgres
 * and Kafka together with the service, and its drain gave up and ended with 1.
 */
it('whoever talks to another service of docker-compose.yml depends on it by name, and so is stopped before it', () => {
  const services = z
    .record(z.string(), service)
    .parse(parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }).services);
  const names = Object.keys(services);
  const undeclared = Object.entries(services).flatMap(([name, { environment, depends_on }]) => {
    const hosts = Object.values(environment).flatMap((value) =>
      [...value.matchAll(/(?:^|\/\/|@)([a-z]+):\d+/g)].map(([, host]) => host),
    );
    const talksTo = names.filter((other) => other !== name && hosts.includes(other));
    return talksTo.filter((other) => !(other in depends_on)).map((other) => `${name} on ${other}`);
  });
  expect(names).toContain('tidemark');
  expect(undeclared).toEqual([]);
});
