// What a user saw: A report on a standby, in one transaction, showed orders without any state.

import { Client } from 'pg';
import { expect, it } from 'vitest';
import { maintainLog } from '../../src/store/maintenance.ts';
import { stateRig } from '../support/orders/state-rig.ts';
import { eventually } from '../support/runs/poll.ts';
import { onServer } from '../support/servers/on-server.ts';
import { withStandby } from '../support/servers/with-standby.ts';

const statesSeen = 'select order_id as id, state::text as state from public.current_orders order by 1';

/**
 * Two servers, orders in a partition that is due, and a snapshot on the standby from before their
 * states move.
 */
async function readerOnStandby(feedback: 'on' | 'off') {
  const stack = new AsyncDisposableStack();
  const servers = stack.use(await withStandby());
  await onServer(servers.standbyUrl, async (client) => {
    await client.query(`alter system set hot_standby_feedback = ${feedback}`);
    await client.query("alter system set wal_receiver_status_interval = '1s'");
    await client.query('select pg_reload_conf()');
  });
  await onServer(servers.primaryUrl, (client) =>
    client.query('drop table order_updates_1, order_updates_5000001, order_updates_10000001'),
  );
  const drop = async () => undefined;
  const database = { name: 'postgres', url: servers.primaryUrl, drop, [Symbol.asyncDispose]: drop };
  const rig = stack.use(await stateRig({ database, newest: new Map() }));
  await rig.write(0, ['a', 'b', 'c'], 2);
  await rig.write(0, ['c'], 8);
  await rig.acknowledge();
  await servers.caughtUp();
  const reader = new Client({ connectionString: servers.standbyUrl });
  reader.on('error', () => undefined);
  await reader.connect();
  stack.defer(() => reader.end().catch(() => undefined));
  await reader.query('begin isolation level repeatable read');
  await reader.query('select count(*) from public.orders');
  if (feedback === 'on')
    await eventually(async () =>
      expect(await rig.rows('select from pg_stat_replication where backend_xmin is not null')).toHaveLength(1),
    );
  while ((await rig.move(100)) > 0);
  const states = [...rig.newest].sort().map(([id, { state }]) => ({ id, state }));
  return { servers, rig, reader, states, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

it('a standby with feedback keeps the partition while it has an older snapshot', async () => {
  await using world = await readerOnStandby('on');
  const { rig, reader, servers, states } = world;
  expect(await rig.drop()).toBeNull();
  await servers.caughtUp();
  expect((await reader.query(statesSeen)).rows).toEqual(states);
  await reader.query('commit');
  await eventually(async () =>
    expect((await maintainLog(rig.pool, { partitionRows: 10, retentionMs: 0 })).dropped).toEqual(['order_updates_1']),
  );
});

it('a reader on a standby without feedback is told to begin again', async () => {
  await using world = await readerOnStandby('off');
  const { rig, reader, servers, states } = world;
  expect(await rig.dropped()).toBe('order_updates_1');
  await servers.caughtUp();
  await expect(reader.query(statesSeen)).rejects.toMatchObject({
    code: '40001',
    message: expect.stringContaining('has moved since this snapshot was taken'),
  });
  await reader.query('rollback');
  expect((await reader.query(statesSeen)).rows).toEqual(states);
});
