// What a user saw: After a restore on another server the stream sent old outcomes as new, and left some out.

import { expect, it } from 'vitest';
import type { EventPosition } from '../../../src/store/orders/order-reads.ts';
import { fence, newPlace } from '../../support/commands/journal-fixtures.ts';
import { all, readRig } from '../../support/orders/read-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

it.each([-2, 30])(
  'positions and events of the server before, whose transactions were %d apart, are those of before',
  async (apart) => {
    await using rig = await readRig();
    const { reads, pool } = rig;
    const now = async () => {
      const { horizon, end } = await reads.eventHorizon();
      return { position: { tx: horizon, number: 0n }, end };
    };
    await rig.journal.open(newPlace(), fence);
    await eventually(async () => {
      const { events } = await reads.eventsAfter({ tx: 0n, number: 0n }, (await now()).position.tx, 50);
      expect(events.length).toBeGreaterThan(0);
    });
    // As a server has them whose transactions had other numbers.
    await pool.query('alter table command_events disable trigger user');
    await pool.query(`update command_events set tx_id = (pg_current_xact_id()::text::bigint + $1)::text::xid8`, [
      apart,
    ]);
    const old: EventPosition = { tx: (await now()).end + BigInt(apart), number: 0n };
    await pool.query(`select after_restore(0, 1, 'restored', 'test')`);

    const seen: string[] = [];
    // Above the halt of the restore itself.
    let after = { tx: (await now()).end, number: 0n };
    const readOn = async () => {
      const page = await reads.eventsAfter(after, (await now()).position.tx, 50);
      expect(page.complete).toBe(true);
      if (page.upTo.tx < after.tx) return;
      seen.push(...page.events.map(({ kind }) => kind));
      after = page.upTo;
    };
    await readOn();
    expect((await reads.eventsAfter(old, (await now()).position.tx, 50)).complete).toBe(false);
    // Until the numbers of this server are above those of the server before.
    for (let at = 0; at < 60; at += 1) await pool.query('select pg_current_xact_id()');
    expect((await reads.eventsAfter(old, (await now()).position.tx, 50)).complete).toBe(false);
    await readOn();
    expect(seen).toEqual([]);
    await rig.pool.query(
      `insert into halts (halt_id, account_id, cause, reason, raised_by, since) values ('new', 'a', 'operator', 'r', 'me', now())`,
    );
    await eventually(async () => {
      await readOn();
      expect(seen).toEqual(['halt']);
    });
    expect((await reads.listCommands(all, {}, undefined, 5)).items).toHaveLength(1);
  },
);
