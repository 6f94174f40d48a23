import { expect, inject, it } from 'vitest';
import { interruption, startParts } from '../../../src/demo/stack/start-parts.ts';
import { cliIo } from '../../support/rest/cli-io.ts';
import { testLog } from '../../support/runs/test-log.ts';

it.each([
  ['Starting Postgres …', ['Starting Postgres …', 'Ending …']],
  ['Starting Kafka …', ['Starting Postgres …', 'Starting Kafka …', 'Ending …']],
])('a signal at "%s" ends the start, and nothing further begins', async (step, expected) => {
  const io = cliIo({ DATABASE_URL: inject('postgresUrl') });
  const said: string[] = [];
  const say = (line: string) => {
    said.push(line);
    if (line === step) io.signal('SIGINT');
  };
  const { signal } = interruption(io, say);
  await expect(startParts(io, testLog, { say, signal })).rejects.toMatchObject({ code: 'INTERRUPTED', exitCode: 130 });
  expect(said).toEqual(expected);
});
