import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { PostgresCommandJournal } from '../../src/store/command-journal.ts';
import { atMs, fence } from './journal-fixtures.ts';
import { storeRig } from './store-rig.ts';

/** The journal in Postgres beside the order store, on a database of its own, under epoch 1 of lane 0. */
export async function journalRig() {
  const rig = await storeRig();
  const told = { fenced: 0 };
  const journal = new PostgresCommandJournal({
    ...{ pool: rig.pool, clock: systemClock, random: systemRandom },
    onFenced: () => {
      told.fenced += 1;
    },
  });
  await journal.takeOver(fence, atMs, 0);
  return {
    ...rig,
    journal,
    /** How often the journal told that a write of its was refused for its epoch. */
    told,
    async events() {
      const rows = await rig.rows<{ command_id: string; version: number; state: string }>(
        "select command_id, version, snapshot ->> 'state' as state from command_events order by id",
      );
      return rows.map(({ command_id, version, state }) => ({ commandId: command_id, version, state }));
    },
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

export type JournalRig = Awaited<ReturnType<typeof journalRig>>;
