import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { sentenceOf } from '../../../src/runtime/program-error.ts';
import { sqlstateSentence, sqlstates, sqlstateWords } from '../../../src/runtime/sqlstate-words.ts';
import { ingestCheck } from '../../../src/service/run/add-health-checks.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

describe('issue: A full disk was "53100" in the log, and nothing at all in `tidemark status`.', () => {
  it('a code is said in words, also one that only its class is known of, and other words stay', () => {
    expect(sqlstateSentence('53100')).toBe('the disk of the database is full (SQLSTATE 53100)');
    expect(sqlstateSentence('53999')).toBe('the database server lacks a resource (SQLSTATE 53999)');
    expect(['ECONNRESET', 'CONNECTION', 'EPIPE', 'TM003', 'NO_PARTITION'].map(sqlstateWords)).toEqual(
      Array(5).fill(undefined),
    );
    expect(sqlstateSentence('ECONNRESET')).toBe('ECONNRESET');
  });

  it('an error of the database begins with them', () => {
    const error = Object.assign(new Error('could not extend file "base/5/1": No space left on device'), {
      code: '53100',
    });
    expect(sentenceOf(error)).toBe(
      'the disk of the database is full: could not extend file "base/5/1": No space left on device',
    );
  });

  it('readiness says why nothing is stored', () => {
    const clock = new VirtualClock();
    const ingest = { depth: 12, oldestUncommittedMs: clock.nowMs() - 40_000, trouble: sqlstateSentence('53100') };
    expect(ingestCheck({ clock, ingest })).toEqual({
      ok: false,
      detail:
        'the oldest of 12 observations has waited 40 s to be stored: the disk of the database is full (SQLSTATE 53100)',
    });
  });

  it('the runbook lists every code of the table with its words, and what to do', () => {
    const page = readFileSync('docs/runbooks/IngestStuck.md', 'utf8');
    for (const [code, words] of Object.entries(sqlstates))
      expect(page).toMatch(new RegExp(`^\\| \`${code}\` \\| ${words} \\| \\S`, 'm'));
    for (const name of ['DatabaseFilling', 'QueueSaturated'])
      expect(readFileSync(`docs/runbooks/${name}.md`, 'utf8')).toContain('`53100`');
  });
});

describe('issue: `docker compose stop` stopped Postgres and Kafka too early, and the service ended with 1.', () => {
  const service = z.object({
    environment: z.record(z.string(), z.string()).default({}),
    depends_on: z.record(z.string(), z.unknown()).default({}),
  });

  /**
   * The service waited for the jobs alone, and they for Postgres and Kafka. At the start that is
   * the same; at the end Compose asked only who depends on whom among what still runs, stopped
   * Postgres and Kafka together with the service, and its drain gave up and ended with 1.
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
});
