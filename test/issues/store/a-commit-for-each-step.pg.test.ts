// What a user saw: With thirty commands at once, Postgres waited for its disk for each of their steps.
import { expect, it } from 'vitest';
import { answered, fence, newPlace, sending } from '../../support/commands/journal-fixtures.ts';
import { journalRig } from '../../support/commands/journal-rig.ts';

it('steps of one moment share commits', async () => {
  await using rig = await journalRig();
  const commands = await Promise.all(Array.from({ length: 30 }, () => sending(rig.journal, newPlace())));
  await Promise.all(commands.map((command) => rig.journal.step(answered(command, 'accepted'), fence)));
  const commits = await rig.rows(
    'select version, count(*)::int as events, count(distinct tx_id) < count(*) as shared from command_events group by version order by version',
  );
  expect(commits).toEqual([
    { version: 1, events: 30, shared: true },
    { version: 2, events: 30, shared: true },
  ]);
});
