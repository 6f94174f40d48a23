import { describe, expect, it } from 'vitest';
import type { CommittedBatch } from '../../src/domain/committed-batch.ts';
import { type RereadReason, Seam } from '../../src/publish/seam.ts';

const limits = { maxHeldBatches: 3, maxHeldBytes: 100 };

function batch(number: bigint, rows = 1, bytes = 10): CommittedBatch {
  return {
    number,
    lastSeq: rows === 0 ? undefined : number * 10n,
    rows: Array.from({ length: rows }, () => ({ topic: 'updates', key: 'k', payload: 'p' })),
    receivedMs: Array.from({ length: rows }, () => 0),
    streams: Array.from({ length: rows }, () => 'account' as const),
    committedMs: Number(number),
    bytes,
  };
}

function seamAt(lastBatch: bigint): { seam: Seam; rereads: RereadReason[] } {
  const rereads: RereadReason[] = [];
  return { seam: new Seam(limits, lastBatch, (reason) => rereads.push(reason)), rereads };
}

/** A seam that has read the log and follows. */
function following(lastBatch: bigint): { seam: Seam; rereads: RereadReason[] } {
  const made = seamAt(lastBatch);
  made.seam.beginRead();
  made.seam.endRead(lastBatch * 10n, true);
  return made;
}

const taken = (seam: Seam, maxRows = 100, maxBytes = 1000) => seam.take(maxRows, maxBytes)?.batches.map(({ number }) => number);

describe('the seam between log and memory', () => {
  it('reads the log first, and follows once a read was complete', () => {
    const { seam, rereads } = seamAt(5n);
    expect([seam.reading, rereads]).toEqual([true, ['start']]);
    seam.beginRead();
    seam.endRead(40n, false);
    expect(seam.reading).toBe(true);
    seam.beginRead();
    seam.endRead(50n, true);
    expect(seam.reading).toBe(false);
  });

  it('keeps what is handed over while a read is under way, without what the read has shown', () => {
    const { seam } = seamAt(5n);
    seam.hand(batch(6n));
    seam.beginRead();
    for (const number of [7n, 8n, 9n]) seam.hand(batch(number));
    seam.endRead(75n, true);
    expect(taken(seam)).toEqual([8n, 9n]);
  });

  it('reads again when something was handed over during the read that does not follow', () => {
    const { seam } = seamAt(5n);
    seam.beginRead();
    seam.hand(batch(7n));
    seam.endRead(50n, true);
    expect(seam.reading).toBe(true);
  });

  it('takes whole batches up to both limits, and at least one', () => {
    const { seam } = following(0n);
    for (const number of [1n, 2n, 3n]) seam.hand(batch(number, 4, 30));
    expect(taken(seam, 8)).toEqual([1n, 2n]);
    expect(taken(seam, 1, 1)).toEqual([3n]);
    expect(taken(seam)).toBeUndefined();
  });

  it('goes back to the log on a gap, and drops what it held', () => {
    const { seam, rereads } = following(0n);
    seam.hand(batch(1n));
    seam.hand(batch(3n));
    expect([seam.reading, seam.heldRows, seam.heldBytes, rereads]).toEqual([true, 0, 0, ['start', 'gap']]);
  });

  it.each([
    ['too many batches', [1n, 2n, 3n, 4n].map((number) => batch(number))],
    ['too many bytes', [batch(1n, 1, 60), batch(2n, 1, 60)]],
  ])('goes back to the log on overflow: %s', (_, batches) => {
    const { seam, rereads } = following(0n);
    for (const one of batches) seam.hand(one);
    expect([seam.reading, seam.heldRows, rereads]).toEqual([true, 0, ['start', 'overflow']]);
  });

  it('ignores a batch that was handed over before', () => {
    const { seam } = following(0n);
    seam.hand(batch(1n));
    seam.hand(batch(1n));
    expect(taken(seam)).toEqual([1n]);
    seam.hand(batch(1n));
    expect([taken(seam), seam.reading]).toEqual([undefined, false]);
  });

  it('counts a batch without rows as a step like any other', () => {
    const { seam } = following(0n);
    seam.hand(batch(1n, 0, 0));
    seam.hand(batch(2n));
    expect(taken(seam)).toEqual([2n]);
    expect(seam.reading).toBe(false);
  });

  it('holds nothing of what is handed over before its first read', () => {
    const { seam } = seamAt(0n);
    for (let number = 1n; number < 1000n; number += 1n) seam.hand(batch(number));
    expect(seam.heldRows).toBe(0);
  });
});
