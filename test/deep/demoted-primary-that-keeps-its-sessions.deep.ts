// What a user saw: After a failover nothing was stored, because the service stayed with the old primary.

import type { Pool } from 'pg';
import { expect, it } from 'vitest';
import { createMetrics } from '../../src/observability/metrics.ts';
import { Backoff } from '../../src/runtime/backoff.ts';
import { systemClock as clock } from '../../src/runtime/clock.ts';
import { Lease } from '../../src/runtime/lease.ts';
import { systemRandom as random } from '../../src/runtime/random.ts';
import { LaneKeeper } from '../../src/service/fleet/lane-keeper.ts';
import { Ingest } from '../../src/service/orders/ingest.ts';
import { storeParts } from '../../src/service/run/store-parts.ts';
import { orderAt } from '../support/orders/ingest-rig.ts';
import { observe } from '../support/orders/observe.ts';
import { eventually } from '../support/runs/poll.ts';
import { testLog } from '../support/runs/test-log.ts';
import { onServer } from '../support/servers/on-server.ts';
import { withStandby } from '../support/servers/with-standby.ts';

const log = testLog.child({}, { level: 'silent' });

/** The real store, lease and ingest of a service at this address. */
async function serviceAt(url: string) {
  const stack = new AsyncDisposableStack();
  const lease = new Lease(clock, 1_200);
  const store = storeParts({ clock, random, log, lease }, { url, poolSize: 4 });
  stack.defer(() => store.close());
  const metrics = createMetrics().ingest;
  const ingest = new Ingest(
    {
      ...{ store: store.orders, lease, clock, log, metrics, onCommitted: () => {}, onCommitUnseen: () => {} },
      lane: { reclaim: () => keeper.reclaim(), reportLost: (why) => keeper.reportLost(why) },
      backoff: new Backoff(random, { firstMs: 5, maxMs: 200 }),
    },
    { queueMaxCount: 20_000, queueMaxBytes: 33_554_432, batchMaxCount: 500, headCacheCount: 50_000 },
  );
  const keeper: LaneKeeper = new LaneKeeper(
    {
      ...{ store: store.lanes, lease, clock, log, metrics },
      work: {
        begin: async (hold) => ingest.begin(hold),
        end: () => ingest.end(),
      },
    },
    { holder: 'me', renewEveryMs: 400, expireAfterMs: 2_000, acquireEveryMs: 100 },
  );
  await keeper.start();
  stack.defer(() => keeper.drain(new AbortController().signal));
  await expect.poll(() => keeper.state).toBe('held');
  return { store, ingest, keeper, lease, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** 200 new orders a second, until it is stopped; resolves with how many there were. */
function changes(ingest: Ingest) {
  const over = new AbortController();
  const all = (async () => {
    let count = 0;
    for (; !over.signal.aborted; count += 1) {
      ingest.offer(observe(orderAt(count, 0)));
      await clock.sleep(5);
    }
    return count;
  })();
  return {
    stop: () => {
      over.abort();
      return all;
    },
  };
}

const stored = (url: string) =>
  onServer(url, async (client) => {
    const { rows } = await client.query(
      `select (select count(*)::int from orders) as orders, (select count(*)::int from order_updates) as updates,
         (select max(generation) from lanes) as generation, (select count(*)::int from halts where cleared_at is null) as halts`,
    );
    return rows[0];
  });

async function portOf(pool: Pool): Promise<string> {
  const { rows } = await pool.query('select inet_server_port()::text as port');
  return rows[0]?.port;
}

it('stores everything within seconds of a promotion, though the old primary stays up and keeps the sessions', async () => {
  await using servers = await withStandby();
  await using service = await serviceAt(servers.url);
  const load = changes(service.ingest);
  await eventually(async () => expect((await stored(servers.primaryUrl)).orders).toBeGreaterThan(100));

  const { pool } = service.store;
  expect(await portOf(pool), 'a session that only reads').toBe(new URL(servers.primaryUrl).port);
  await servers.demote();
  await expect.poll(() => pool.query('select 1').then(String, String)).toMatch(/read-only.*takes no writes/);
  await servers.caughtUp();
  await servers.promote();
  servers.leadTo(servers.standbyUrl);
  await expect.poll(() => portOf(pool).catch(String)).toBe(new URL(servers.standbyUrl).port);

  const { orders } = await stored(servers.standbyUrl);
  await eventually(async () => expect((await stored(servers.standbyUrl)).orders).toBeGreaterThan(orders + 400), {
    deadlineMs: 20_000,
  });
  const count = await load.stop();
  await service.ingest.committed();
  expect(await stored(servers.standbyUrl), 'each once, and no commit was lost').toEqual({
    ...{ orders: count, updates: count },
    ...{ generation: 1, halts: 0 },
  });
  expect(service.lease.mayAct()).toBe(true);
});

it('begins a generation where the standby that was promoted lacks commits', async () => {
  await using servers = await withStandby();
  await using service = await serviceAt(servers.url);
  const load = changes(service.ingest);
  await eventually(async () => expect((await stored(servers.primaryUrl)).orders).toBeGreaterThan(100));
  await servers.stopReplication();
  const { orders: kept } = await stored(servers.standbyUrl);
  await eventually(async () => expect((await stored(servers.primaryUrl)).orders).toBeGreaterThan(kept + 100));

  await servers.demote();
  await servers.promote();
  servers.leadTo(servers.standbyUrl);

  await eventually(async () => expect(await stored(servers.standbyUrl)).toMatchObject({ generation: 2, halts: 1 }));
  await eventually(async () => expect((await stored(servers.standbyUrl)).orders).toBeGreaterThan(kept + 200));
  await load.stop();
});
