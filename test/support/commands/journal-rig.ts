import type { Pool } from 'pg';
import type { OrderView } from '../../../src/domain/order.ts';
import type { CommandJournal, NewCommand } from '../../../src/store/commands/command-journal.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import type { Fence } from '../../../src/store/commands/term.ts';
import { postgresOrderReads } from '../../../src/store/rest-reads.ts';
import { type StoreRigOptions, storeRig } from '../orders/store-rig.ts';
import { atMs, fence } from './journal-fixtures.ts';

/** The shard is taken under this epoch, unless it has a later one. */
export function takeShard(pool: Pool, { shard, epoch }: Fence): Promise<unknown> {
  return pool.query('update public.shards set epoch = $2 where shard = $1 and epoch < $2', [shard, epoch.toString()]);
}

/** A journal whose takeovers begin with the taking of their shard, as in the service. */
export function takingJournal(pool: Pool, journal: CommandJournal): CommandJournal {
  const takeOver: CommandJournal['takeOver'] = async (fence, ...asked) => {
    await takeShard(pool, fence);
    return journal.takeOver(fence, ...asked);
  };
  return { ...journal, takeOver };
}

/**
 * The journal in Postgres beside the order store, on a database
 * of its own, under epoch 1 of lane 0.
 */
export async function journalRig(options: StoreRigOptions = {}) {
  const rig = await storeRig(options);
  const journal = takingJournal(rig.pool, createPostgresJournal(rig.deps));
  // A database that was given has holders of its own.
  if (options.database === undefined) await journal.takeOver(fence, atMs, 0);
  return {
    ...rig,
    journal,
    async evidenceOf(commandId: string) {
      const found = await postgresOrderReads(rig.deps).findCommand({ kind: 'all' }, commandId);
      return found?.evidence ?? [];
    },
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
