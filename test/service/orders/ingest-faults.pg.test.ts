import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Backoff } from '../../../src/runtime/backoff.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { Ingest } from '../../../src/service/orders/ingest.ts';
import { orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';
import { storeRig } from '../../support/orders/store-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { testLog } from '../../support/runs/test-log.ts';

describe('issue: One damaged row in the database kept 100 other orders from being stored.', () => {
  // XX001 on one row: 100 other orders stayed uncommitted for
  // ever, with one warning, and a depth of 0.
  it('an order whose row the database can neither read nor write becomes a dead letter, and the others pass', async () => {
    await using rig = await storeRig();
    const lease = new Lease(clock, 1e9);
    lease.confirm(rig.epoch, clock.monotonicMs());
    const log = testLog.child({}, { level: 'silent' });
    const ingest = new Ingest(
      {
        ...{ store: rig.store, lease, clock, log, metrics: createMetrics().ingest },
        lane: { reclaim: async () => undefined, reportLost: () => {} },
        onCommitted: () => {},
        onCommitUnseen: () => {},
        backoff: new Backoff(systemRandom, { firstMs: 5, maxMs: 50 }),
      },
      { queueMaxCount: 4000, queueMaxBytes: 33_554_432, batchMaxCount: 500, headCacheCount: 50_000 },
    );
    ingest.begin({ epoch: rig.epoch, batch: 0n, generation: 1 });
    await rig.pool.query(`create function damaged() returns trigger language plpgsql as $$ begin
    if new.order_id = 'ord-13' then raise exception 'invalid page in block 7' using errcode = 'XX001'; end if;
    return new;
  end $$`);
    await rig.pool.query(
      'create trigger damaged before insert or update on orders for each row execute function damaged()',
    );
    for (let order = 0; order < 100; order += 1) ingest.offer(observe(orderAt(order, 0)));
    await eventually(async () => expect((await rig.rows('select from orders')).length).toBe(99));
    await ingest.committed();
    expect(ingest.depth).toBe(0);
    expect(await rig.rows('select order_id, reason, detail from dead_letters')).toEqual([
      { order_id: 'ord-13', reason: 'poison', detail: 'Postgres refused it with SQLSTATE XX001' },
    ]);
    await ingest.end();
  });
});
