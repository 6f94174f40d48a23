import type { Pool } from 'pg';
import { expect, it } from 'vitest';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import { CommandRig, placePrediction } from '../../support/commands/command-rig.ts';

it('a place goes through six functions from REST to its statement in SQL', async () => {
  const rig = await CommandRig.leading();
  const stacks: string[] = [];
  const connect = async () => {
    stacks.push(new Error().stack ?? '');
    throw new Error('no database');
  };
  const journal = createPostgresJournal({
    pool: { connect } as unknown as Pool,
    clock: rig.clock,
    random: seededRandom(1),
  });
  rig.journal.open = journal.open;
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 100;
  try {
    await rig.declined(placePrediction);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  const names = (stacks[0] ?? '').split('\n').map((line) => /^ +at (?:async )?(\S+)/.exec(line)?.[1] ?? '');
  const [first, last] = [names.indexOf('openCommand'), names.indexOf('CommandService.submit')];
  expect(first).toBeGreaterThan(0);
  expect(names.slice(first, last + 1)).toHaveLength(6);
});
