import { describe, expect, it } from 'vitest';
import { type Act, Lease } from '../../../src/runtime/lease.ts';
import {
  CheckpointWriter,
  decodeCheckpoint,
  encodeCheckpoint,
  mergeCheckpoint,
} from '../../../src/service/log/checkpoint-writer.ts';
import { PublishError, type PublishRow } from '../../../src/service/log/publisher.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

function rig() {
  const clock = new VirtualClock();
  const lease = new Lease(clock, 10_000);
  lease.enter(3);
  lease.checkpoint.sawLane({ generation: 2, epoch: 7n, batch: 10n });
  const state = { mayWrite: true, error: undefined as PublishError | undefined };
  const batches: (bigint | undefined)[] = [];
  const publisher = {
    publish: async ([row]: readonly PublishRow[]) => {
      await clock.sleep(10);
      if (state.error !== undefined) throw state.error;
      batches.push(decodeCheckpoint(row?.payload ?? '')?.batch);
    },
    close: async () => undefined,
  };
  const writer = new CheckpointWriter({ clock, lease, publisher, mayWrite: () => state.mayWrite });
  writer.doubt();
  return { clock, lease, state, batches, writer };
}

describe('the checkpoint of a lane on Kafka', () => {
  it('is written before what it covers may be sent, and not again for what it covers already', async () => {
    const { clock, batches, writer } = rig();
    let covered = 0;
    for (const batch of [11n, 9n, 11n]) void writer.cover(batch).then(() => (covered += 1));
    await clock.advance(9);
    expect([covered, batches]).toEqual([0, []]);
    await clock.advance(30);
    expect([covered, batches]).toEqual([3, [11n]]);
    await writer.cover(10n);
    expect(batches).toEqual([11n]);
  });

  it('that is on its way covers nothing newer: that waits for the next one', async () => {
    const { clock, batches, lease, writer } = rig();
    writer.hurry();
    lease.checkpoint.saw(['sent', 'tm-1']);
    let covered = false;
    void writer.cover().then(() => {
      covered = true;
    });
    await clock.advance(15);
    expect([covered, batches.length]).toEqual([false, 1]);
    await clock.advance(15);
    expect([covered, batches.length]).toEqual([true, 2]);
  });

  it('of a command that may be sent is written at once, and of its later steps after 10 ms', async () => {
    const { clock, batches, lease, writer } = rig();
    const saw = (act: Act) => {
      lease.checkpoint.saw(act);
      writer.hurry(act);
    };
    for (const act of [
      ['step', 'c-1', 1, 7],
      ['sent', 'tm-1'],
      ['halt', 'h-1'],
    ] as const) {
      const before = batches.length;
      saw(act);
      await clock.advance(10);
      expect(batches).toHaveLength(before + 1);
    }
    saw(['step', 'c-1', 2, 8]);
    saw(['step', 'c-2', 2, 8]);
    await clock.advance(19);
    expect(batches).toHaveLength(3);
    await clock.advance(1);
    expect(batches).toHaveLength(4);
    saw(['step', 'c-1', 3, 9]);
    writer.along(11n)?.carried();
    await clock.advance(100);
    expect(batches, 'it went along').toHaveLength(4);
  });

  it('is not written, and nothing published, before Kafka has said what it has', async () => {
    const { clock, state, batches, writer } = rig();
    state.mayWrite = false;
    writer.hurry();
    await expect(writer.cover(11n)).rejects.toMatchObject({ code: 'unavailable' });
    await clock.advance(100);
    expect(batches).toEqual([]);
  });

  it('is not written for what waited for another write, once a new question to Kafka has no answer', async () => {
    const { clock, lease, state, batches, writer } = rig();
    writer.hurry();
    lease.checkpoint.sawBatch(11n);
    const covered = expect(writer.cover(11n)).rejects.toMatchObject({ code: 'unavailable' });
    state.mayWrite = false;
    await clock.advance(100);
    await covered;
    expect(batches).toEqual([10n]);
  });

  it.each([
    ['timeout', /^no answer$/],
    ['unknown_topic', /run `tidemark topics apply`, and grant Write on it/],
    ['unauthorized', /run `tidemark topics apply`, and grant Write on it/],
  ])('keeps records back while it fails (%s), and says what to do', async (code, message) => {
    const { clock, state, writer } = rig();
    state.error = new PublishError(code, 'no answer');
    const failed = expect(writer.cover(11n)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    await clock.advance(20);
    await failed;
    state.error = undefined;
    const covered = writer.cover(11n);
    await clock.advance(20);
    await covered;
  });

  it('has the last eight acts', async () => {
    const { lease, writer } = rig();
    for (let n = 1; n <= 20; n += 1) lease.checkpoint.saw(['sent', `tm-${n}`]);
    const row = writer.along(11n)?.row;
    expect(decodeCheckpoint(row?.payload ?? '')?.acts).toEqual(
      [13, 14, 15, 16, 17, 18, 19, 20].map((n) => ['sent', `tm-${n}`]),
    );
  });

  it('goes along with a send only once Kafka takes checkpoints, and not again after a send that failed', async () => {
    const { clock, batches, lease, writer } = rig();
    const first = writer.along(11n);
    expect(first?.alone).toBe(true);
    void first?.before();
    await clock.advance(20);
    expect([batches, writer.along(11n)]).toEqual([[11n], undefined]);

    const second = writer.along(12n);
    expect(decodeCheckpoint(second?.row.payload ?? '')).toMatchObject({ lane: 3, batch: 12n });
    // Until it has arrived, it covers nothing.
    expect(writer.along(12n)?.alone).toBe(false);
    second?.carried();
    expect(writer.along(12n)).toBeUndefined();

    writer.doubt();
    expect(writer.along(13n)?.alone).toBe(true);
    lease.enter(4);
    lease.checkpoint.sawLane({ generation: 2, epoch: 1n, batch: 0n });
    writer.doubt();
    second?.carried();
    expect(writer.along(1n), 'what arrived was of another lane').toBeDefined();
    expect(batches).toEqual([11n]);
  });

  it('does not go along, and nothing may be sent, before Kafka has said what it has', () => {
    const { state, writer } = rig();
    state.mayWrite = false;
    expect(() => writer.along(11n)).toThrow(expect.objectContaining({ code: 'unavailable' }));
  });

  it('is read as it was written, of any two the higher numbers, and of a new generation only that one', () => {
    const step = ['step', 'c', 3, 7] as const;
    const seen = { generation: 2, epoch: 9_007_199_254_740_993n, batch: 5n, acts: [step] };
    const checkpoint = decodeCheckpoint(encodeCheckpoint({ lane: 3, ...seen }));
    expect(checkpoint).toEqual({ lane: 3, ...seen });
    expect([decodeCheckpoint('{"schema":"other"}'), decodeCheckpoint('')]).toEqual([undefined, undefined]);
    const later = { lane: 3, generation: 2, epoch: 1n, batch: 9n, acts: [] };
    expect(checkpoint && mergeCheckpoint(checkpoint, later)).toEqual({ lane: 3, ...seen, batch: 9n });
    const older = { lane: 3, generation: 2, epoch: 7n, batch: 11n, changes: 4, acts: [] };
    const newer = { lane: 3, generation: 2, epoch: 7n, batch: 10n, changes: 5, acts: [step] };
    // From two partitions, in whatever order.
    for (const [first, second] of [
      [older, newer],
      [newer, older],
    ] as const)
      expect(mergeCheckpoint(first, second)).toEqual({ ...newer, batch: 11n });
    const next = { lane: 3, generation: 3, epoch: 1n, batch: 1n, acts: [] };
    expect(checkpoint && mergeCheckpoint(checkpoint, next)).toEqual(next);
    expect(checkpoint && mergeCheckpoint(next, checkpoint)).toEqual(next);
  });
});

describe('issue: A process that took another lane called commits lost, and placing was halted.', () => {
  it('a send that waited for its connection says nothing about the lane of the next term', async () => {
    const { clock, lease, writer } = rig();
    const along = writer.along(11n);
    lease.enter(5);
    lease.checkpoint.sawLane({ generation: 2, epoch: 1n, batch: 4n });
    writer.doubt();
    const ended = along?.before().catch(() => undefined);
    await clock.advance(100);
    await ended;
    expect(lease.checkpoint.newest).toMatchObject({ batch: 4n });
  });
});
