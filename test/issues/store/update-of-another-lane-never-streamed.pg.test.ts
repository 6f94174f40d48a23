// What a user saw: An update that committed a moment late never came to the readers of the event stream.

import type { Client } from 'pg';
import { expect, it } from 'vitest';
import { untilEnded } from '../../../src/store/orders/read-stream.ts';
import { all, readRig } from '../../support/orders/read-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

/** Lane 0 through a connection whose transactions the test ends, lane 1 by whole batches. */
async function twoLanes() {
  const rig = await readRig();
  const other = await rig.lanes.acquire(1, 'other', 6_000);
  if (other.kind !== 'held') throw new Error('lane 1 is held by somebody');
  let number = 0;
  return Object.assign(rig, {
    slow: await rig.rival(),
    async commitInLane1(orderId: string): Promise<void> {
      number += 1;
      await write(rig.pool, { lane: 1, epoch: other.epoch, number }, orderId);
    },
  });
}

/** A batch of one update. */
async function write(
  to: Pick<Client, 'query'>,
  { lane, epoch, number }: { readonly lane: number; readonly epoch: bigint; readonly number: number },
  orderId: string,
): Promise<void> {
  await to.query(
    `select apply_batch($1, $2, $3, array['account'], array[$4], '{A}', '{S}', '{new}', '{1}', '{0}', '{null}', array[null]::json[], array['{}']::json[], '{1}',
       array['account'], array[$4], '{A}', '{1}', '{-1}', '{p}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')`,
    [lane, epoch.toString(), number, orderId],
  );
}

/** One of lane 0, left open. */
async function beginBatch(
  { slow, epoch }: Pick<Rig, 'slow' | 'epoch'>,
  number: number,
  orderId: string,
): Promise<void> {
  await slow.query('begin');
  await write(slow, { lane: 0, epoch, number }, orderId);
}

type Rig = Awaited<ReturnType<typeof twoLanes>>;

async function seen(rig: Rig, after = 0n) {
  const { updates, lastSeq } = await rig.reads.updatesAfter(all, after, 10);
  return { orders: updates.map(({ orderId }) => orderId), lastSeq };
}

/** Resolves once the read waits for the batch. */
async function waits(rig: Rig, read: Promise<unknown>): Promise<void> {
  let over = false;
  void read.finally(() => {
    over = true;
  });
  const asked = rig.queries.length;
  await eventually(() =>
    expect(rig.queries.slice(asked).some(({ text }) => text.includes('unnest($1::xid8[])'))).toBe(true),
  );
  expect(over).toBe(false);
}

it('a read waits for a batch of another lane that took a lower seq and is not committed', async () => {
  await using rig = await twoLanes();
  await beginBatch(rig, 1, 'slow');
  await rig.commitInLane1('quick');
  const read = seen(rig);
  await waits(rig, read);
  await rig.slow.query('commit');
  expect(await read).toEqual({ orders: ['slow', 'quick'], lastSeq: 2n });
});

it('what commits while it is waited for is left for the next read', async () => {
  await using rig = await twoLanes();
  await beginBatch(rig, 1, 'slow');
  await rig.commitInLane1('quick');
  const read = seen(rig);
  await waits(rig, read);
  await rig.commitInLane1('later');
  await rig.slow.query('commit');
  expect(await read).toEqual({ orders: ['slow', 'quick'], lastSeq: 2n });
  expect(await seen(rig, 2n)).toEqual({ orders: ['later'], lastSeq: 3n });
});

it('a stream begins where nothing can be committed any more below it', async () => {
  await using rig = await twoLanes();
  await beginBatch(rig, 1, 'slow');
  await rig.commitInLane1('quick');
  const newest = rig.reads.newestSeq();
  await waits(rig, newest);
  await rig.slow.query('rollback');
  expect(await newest).toBe(2n);
});

it('a batch that was rolled back, and a lock that was only taken, hold up nobody', async () => {
  await using rig = await twoLanes();
  await beginBatch(rig, 1, 'never');
  await rig.slow.query('rollback');
  await rig.commitInLane1('quick');
  expect(await seen(rig)).toEqual({ orders: ['quick'], lastSeq: 2n });
  await rig.slow.query('begin');
  await rig.slow.query('select from lanes where lane = 0 for update');
  await rig.slow.query('commit');
  const [touched] = await rig.rows<{ by: string }>('select xmax::text as by from lanes where lane = 0');
  expect(touched?.by, 'the row still names who locked it').not.toBe('0');
  expect(await seen(rig)).toEqual({ orders: ['quick'], lastSeq: 2n });
  expect(rig.queries).toHaveLength(2);
});

it('of one lane nothing is waited for: its next seqs lie above all that it committed', async () => {
  await using rig = await twoLanes();
  await rig.commitInLane1('early');
  await rig.store({ orderId: 'mine' });
  await beginBatch(rig, 2, 'slow');
  expect(await seen(rig)).toEqual({ orders: ['early', 'mine'], lastSeq: 2n });
  expect(await rig.reads.newestSeq()).toBe(2n);
  await rig.slow.query('commit');
  expect(await seen(rig, 2n)).toEqual({ orders: ['slow'], lastSeq: 3n });
});

it('a transaction that keeps the row of a lane does not silently stop the stream', async () => {
  await using rig = await twoLanes();
  await beginBatch(rig, 1, 'slow');
  const [{ xid } = { xid: '' }] = (await rig.slow.query<{ xid: string }>('select pg_current_xact_id()::text as xid'))
    .rows;
  const quickly = { everyMs: 1, deadlineMs: 20 };
  await expect(untilEnded(rig.deps, [xid], quickly)).rejects.toThrow(`does not end (xid ${xid})`);
  await rig.slow.query('rollback');
  await untilEnded(rig.deps, [xid], quickly);
});
