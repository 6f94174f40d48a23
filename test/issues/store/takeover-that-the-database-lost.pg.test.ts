// What a user saw: A command was swept as sent and then as unsent, under one version and one generation.

import { afterEach, expect, it } from 'vitest';
import type { Command } from '../../../src/domain/command.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { systemRandom as random } from '../../../src/runtime/random.ts';
import { storeParts } from '../../../src/service/run/store-parts.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { fence, newPlace, sending } from '../../support/commands/journal-fixtures.ts';
import { journalRig, takeShard } from '../../support/commands/journal-rig.ts';
import { silentLog as log } from '../../support/runs/silent-log.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Rig = Awaited<ReturnType<typeof journalRig>>;

/** A process on lane 0, which no renewal of it helps to notice anything. */
async function process(rig: Rig) {
  const lease = new Lease(clock, 3_000);
  const [row] = await rig.rows<{ epoch: string }>('select epoch from lanes where lane = 0');
  lease.witness.sawLane({ generation: 1, epoch: BigInt(row?.epoch ?? 0), batch: 0n });
  const parts = storeParts({ clock, random, log, lease }, { url: rig.database.url, poolSize: 1 });
  ends.push(() => parts.close());
  return { ...parts, lease };
}

const stepOf = (swept: Command | undefined) => ['step', swept?.commandId, swept?.version, swept?.updatedAtMs];

// The process that marked the attempt is gone, so only the takeover's own sweep can prove the loss.
it('the steps of a takeover are witnessed: a database without them has lost commits', async () => {
  const rig = await journalRig();
  ends.push(async () => rig[Symbol.asyncDispose]());
  const command = await sending((await process(rig)).journal, newPlace());
  const taking = await process(rig);
  const next = { ...fence, epoch: fence.epoch + 1n };
  await takeShard(rig.pool, next);
  const [swept] = await taking.journal.takeOver(next, clock.nowMs(), 60_000);
  expect(swept).toMatchObject({ commandId: command.commandId, state: 'unknown' });
  expect(taking.lease.witness.newest?.acts).toEqual([stepOf(swept)]);
  await taking.noticeLost();
  const generation = async () => (await rig.rows<{ g: number }>('select max(generation) as g from lanes'))[0]?.g;
  expect(await generation(), 'nothing is lost').toBe(1);
  await rig.rows(`set session_replication_role = replica;
    delete from command_events e using commands c where c.command_id = e.command_id and c.version = e.version;
    update commands set state = 'open', version = version - 1, reason = null;
    update attempts set state = 'prepared', sending_at = null, answered_at = null, reason = null;
    reset session_replication_role`);
  await taking.noticeLost();
  expect(await generation()).toBe(2);
  // What can't be told to be unsent counts as sent.
  const [again] = await taking.journal.takeOver(next, clock.nowMs(), 60_000);
  expect(again).toMatchObject({ state: 'unknown', attempts: [{ state: 'unknown' }] });
});

// A sweep is a commit like any other, and its caller can't have read it back.
it('the steps of a takeover whose read-back failed are witnessed by its next try', async () => {
  const rig = await journalRig();
  ends.push(async () => rig[Symbol.asyncDispose]());
  const command = await sending((await process(rig)).journal, newPlace());
  const { lease } = await process(rig);
  const pool = createPool({ log }, { url: rig.database.url, maxConnections: 1, applicationName: 'taking' });
  ends.push(() => pool.end());
  let failing = true;
  const reading = Object.assign(Object.create(pool) as typeof pool, {
    query: (...asked: unknown[]) =>
      failing ? Promise.reject(new Error('it can not be read')) : Reflect.apply(pool.query, pool, asked),
  });
  const journal = createPostgresJournal({ pool: reading, clock, random, witness: lease.witness });
  const next = { ...fence, epoch: fence.epoch + 1n };
  await takeShard(rig.pool, next);
  const atMs = clock.nowMs();
  await expect(journal.takeOver(next, atMs, 60_000)).rejects.toThrow('can not be read');
  expect(lease.witness.newest?.acts).toEqual([]);
  failing = false;
  const [swept] = await journal.takeOver(next, atMs, 60_000);
  expect(swept).toMatchObject({ commandId: command.commandId, state: 'unknown' });
  expect(lease.witness.newest?.acts).toEqual([stepOf(swept)]);
});
