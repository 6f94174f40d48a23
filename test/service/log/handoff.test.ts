import { describe, expect, it } from 'vitest';
import type { CommittedBatch } from '../../../src/domain/committed-batch.ts';
import { Handoff, type RereadReason } from '../../../src/service/log/handoff.ts';

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

function handoffAt(lastBatch: bigint): { handoff: Handoff; rereads: RereadReason[] } {
  const rereads: RereadReason[] = [];
  return { handoff: new Handoff(limits, lastBatch, (reason) => rereads.push(reason)), rereads };
}

/** A handoff that has read the log and follows. */
function following(lastBatch: bigint): { handoff: Handoff; rereads: RereadReason[] } {
  const made = handoffAt(lastBatch);
  made.handoff.beginRead();
  made.handoff.endRead(lastBatch * 10n, true);
  return made;
}

const taken = (handoff: Handoff, maxRows = 100, maxBytes = 1000) =>
  handoff.takeRows(maxRows, maxBytes)?.batches.map(({ number }) => number);

describe('the handoff between log and memory', () => {
  it('reads the log first, and follows once a read was complete', () => {
    const { handoff, rereads } = handoffAt(5n);
    expect([handoff.reading, rereads]).toEqual([true, ['start']]);
    handoff.beginRead();
    handoff.endRead(40n, false);
    expect(handoff.reading).toBe(true);
    handoff.beginRead();
    handoff.endRead(50n, true);
    expect(handoff.reading).toBe(false);
  });

  it('keeps what is handed over while a read is under way, without what the read has shown', () => {
    const { handoff } = handoffAt(5n);
    handoff.addCommitted(batch(6n));
    handoff.beginRead();
    for (const number of [7n, 8n, 9n]) handoff.addCommitted(batch(number));
    handoff.endRead(75n, true);
    expect(taken(handoff)).toEqual([8n, 9n]);
  });

  it('follows on from a batch that was committed before the read and never handed over', () => {
    const { handoff, rereads } = following(5n);
    handoff.reread('gap');
    handoff.beginRead(6n);
    handoff.endRead(60n, true);
    expect(handoff.newestBatch).toBe(6n);
    for (const number of [6n, 7n]) handoff.addCommitted(batch(number));
    expect([taken(handoff), rereads]).toEqual([[7n], ['start', 'gap']]);
  });

  it('reads again when something was handed over during the read that does not follow', () => {
    const { handoff } = handoffAt(5n);
    handoff.beginRead();
    handoff.addCommitted(batch(7n));
    handoff.endRead(50n, true);
    expect(handoff.reading).toBe(true);
  });

  it('takes whole batches up to both limits, and at least one', () => {
    const { handoff } = following(0n);
    for (const number of [1n, 2n, 3n]) handoff.addCommitted(batch(number, 4, 30));
    expect(taken(handoff, 8)).toEqual([1n, 2n]);
    expect(taken(handoff, 1, 1)).toEqual([3n]);
    expect(taken(handoff)).toBeUndefined();
  });

  it('goes back to the log on a gap, and drops what it held', () => {
    const { handoff, rereads } = following(0n);
    handoff.addCommitted(batch(1n));
    handoff.addCommitted(batch(3n));
    expect([handoff.reading, handoff.heldRows, rereads]).toEqual([true, 0, ['start', 'gap']]);
  });

  it('has room for as many bytes as ever once it dropped what it held', () => {
    const { handoff } = following(0n);
    handoff.addCommitted(batch(1n));
    handoff.addCommitted(batch(3n));
    handoff.beginRead();
    handoff.addCommitted(batch(4n, 1, limits.maxHeldBytes));
    handoff.endRead(30n, true);
    expect(taken(handoff)).toEqual([4n]);
  });

  it.each([
    ['too many batches', [1n, 2n, 3n, 4n].map((number) => batch(number))],
    ['too many bytes', [batch(1n, 1, 60), batch(2n, 1, 60)]],
  ])('goes back to the log on overflow: %s', (_, batches) => {
    const { handoff, rereads } = following(0n);
    for (const one of batches) handoff.addCommitted(one);
    expect([handoff.reading, handoff.heldRows, rereads]).toEqual([true, 0, ['start', 'overflow']]);
  });

  it('ignores a batch that was handed over before', () => {
    const { handoff } = following(0n);
    handoff.addCommitted(batch(1n));
    handoff.addCommitted(batch(1n));
    expect(taken(handoff)).toEqual([1n]);
    handoff.addCommitted(batch(1n));
    expect([taken(handoff), handoff.reading]).toEqual([undefined, false]);
  });

  it('counts a batch without rows as a step like any other', () => {
    const { handoff } = following(0n);
    handoff.addCommitted(batch(1n, 0, 0));
    handoff.addCommitted(batch(2n));
    expect(taken(handoff)).toEqual([2n]);
    expect(handoff.reading).toBe(false);
  });

  it('holds nothing of what is handed over before its first read', () => {
    const { handoff } = handoffAt(0n);
    for (let number = 1n; number < 1000n; number += 1n) handoff.addCommitted(batch(number));
    expect(handoff.heldRows).toBe(0);
  });
});
