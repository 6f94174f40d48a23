import type { OrderView } from '../../../src/domain/order.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import type { NewCommand } from '../../../src/store/commands/command-journal.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import { type StoreRigOptions, storeRig } from '../orders/store-rig.ts';
import { atMs, fence } from './journal-fixtures.ts';

/**
 * The journal in Postgres beside the order store, on a database
 * of its own, under epoch 1 of lane 0.
 */
export async function journalRig(options: StoreRigOptions = {}) {
  const rig = await storeRig(options);
  const told = { fenced: 0 };
  const journal = createPostgresJournal({
    ...{ pool: rig.pool, clock: systemClock, random: systemRandom },
    onFenced: () => {
      told.fenced += 1;
    },
  });
  // A database that was given has holders of its own.
  if (options.database === undefined) await journal.takeOver(fence, atMs, 0);
  return {
    ...rig,
    journal,
    /** How often the journal told that a write of its was refused for its epoch. */
    told,
    /** Not by a batch: what limits count is the table, whoever writes it. */
    async show(
      { stream, orderId, accountId, instrument, status, ...rest }: OrderView,
      place?: NewCommand,
      matches = true,
    ) {
      const [known] = await rig.rows<{ command_id: string }>(
        'select command_id from order_bindings where stream = $1 and order_id = $2 and matches',
        [stream, orderId],
      );
      const commandId = matches ? (place?.commandId ?? known?.command_id) : undefined;
      const state = JSON.stringify({ stream, orderId, accountId, instrument, status, commandId, ...rest });
      await rig.rows(
        `insert into orders (stream, order_id, lane, account_id, symbol, status, revision, state, join_state) values ($1, $2, 0, $3, $4, $5, 1, $6, '{}')
         on conflict (stream, order_id) do update set status = excluded.status, state = excluded.state, revision = orders.revision + 1`,
        [stream, orderId, accountId, instrument.symbol, status, state],
      );
      if (place !== undefined)
        await rig.rows(
          'insert into order_bindings (stream, order_id, attempt_id, command_id, matches) values ($1, $2, $3, $4, $5)',
          [...[stream, orderId, place.attemptId, place.commandId], matches],
        );
    },
    async events() {
      const rows = await rig.rows<{ command_id: string; version: number; state: string }>(
        'select command_id, version, state from command_events order by id',
      );
      return rows.map(({ command_id, version, state }) => ({ commandId: command_id, version, state }));
    },
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

export type JournalRig = Awaited<ReturnType<typeof journalRig>>;
