// What a user saw: The stream was marked complete although an order event in it could not be read.

import { expect, it } from 'vitest';
import { liveConnectors } from '../../support/orders/connectors-rig.ts';
import { accountRow, predictionRow, type Row } from '../../support/platform/platform-rows.ts';

async function live() {
  const rig = await liveConnectors();
  await rig.clock.advance(1_000);
  /** The furthest that a mark of the stream has called complete since `from`. */
  const completeUpTo = (stream: 'account' | 'prediction', from: number) =>
    Math.max(
      0,
      ...rig.sink.items
        .slice(from)
        .flatMap((item) =>
          item.kind === 'continuity' && item.stream === stream && item.event !== 'lost' ? [item.atMs] : [],
        ),
    );
  return { ...rig, completeUpTo };
}

const unreadable: Row = { ...accountRow, qty: 'many' };
const refusal = { status: 503, message: 'down', retryable: true, sent: 'yes' } as const;

it('says "complete up to" no further than a frame whose order could not be read since, and goes on once it was', async () => {
  const { platform, clock, sink, completeUpTo, account } = await live();
  platform.listError = () => refusal;
  platform.getError = () => refusal;
  const from = sink.items.length;
  const framedMs = clock.nowMs();
  platform.emit('account', 'acct-1', unreadable);
  await clock.advance(120_000);
  expect(platform.gets.length).toBeGreaterThan(3);
  expect(completeUpTo('account', from)).toBeLessThan(framedMs);
  expect(completeUpTo('prediction', from)).toBeGreaterThan(framedMs + 60_000);
  expect(account('account', 'acct-1')).toMatchObject({ state: 'live', unrecovered: 1 });

  platform.rows.set('account:acct-1', [accountRow]);
  platform.getError = undefined;
  await clock.advance(90_000);
  expect(completeUpTo('account', from)).toBeGreaterThan(framedMs + 120_000);
  expect(account('account', 'acct-1')?.unrecovered).toBe(0);
});

it('is not content with a row that is itself unreadable, nor with the answer that there is no such order', async () => {
  const { platform, clock, sink, completeUpTo } = await live();
  platform.listError = () => refusal;
  const from = sink.items.length;
  const framedMs = clock.nowMs();
  platform.emit('account', 'acct-1', unreadable);
  await clock.advance(60_000);
  expect(completeUpTo('account', from)).toBeLessThan(framedMs);
  platform.rows.set('account:acct-1', [unreadable]);
  platform.listError = undefined;
  await clock.advance(300_000);
  expect(completeUpTo('account', from)).toBeLessThan(framedMs);
  platform.rows.set('account:acct-1', [accountRow]);
  await clock.advance(330_000);
  expect(completeUpTo('account', from)).toBeGreaterThan(framedMs + 300_000);
});

it('takes a complete read for the recovery of every frame before it, also of one that names no account', async () => {
  const { platform, clock, sink, socket, completeUpTo } = await live();
  platform.listError = () => refusal;
  const from = sink.items.length;
  const framedMs = clock.nowMs();
  socket('account').deliver('{"type":"event","pay');
  await clock.advance(120_000);
  expect(completeUpTo('account', from)).toBeLessThan(framedMs);
  expect(completeUpTo('prediction', from)).toBeGreaterThan(framedMs + 60_000);
  platform.listError = undefined;
  await clock.advance(120_000);
  expect(completeUpTo('account', from)).toBeGreaterThan(framedMs + 120_000);
});

it('becomes live only by a read that began after the last frame that could not be read, and after the last gap', async () => {
  for (const stream of ['account', 'prediction'] as const) {
    const { platform, clock, sink, socket, state, until, completeUpTo } = await live();
    const answers: (() => void)[] = [];
    platform.beforeList = (request) =>
      request.stream === stream ? new Promise((resolve) => answers.push(resolve)) : Promise.resolve();
    socket(stream).end({ kind: 'closed', code: 1001, reason: 'restart' });
    await until(stream, 'resyncing');
    await clock.advance(10);
    const from = sink.items.length;
    if (stream === 'account') socket('account').deliver('not JSON');
    else platform.emit('prediction', 'acct-1', { ...predictionRow, certainty: 'unknown_gap' }, 9n);
    answers.shift()?.();
    await clock.advanceUntil(() => answers.length > 0 || state(stream) === 'live', 60_000);
    expect([stream, state(stream), completeUpTo(stream, from)]).toEqual([stream, 'resyncing', 0]);
    answers.shift()?.();
    await until(stream, 'live');
  }
});

it('says "complete up to" no further than a gap that came too soon after another to be read at once', async () => {
  const { platform, clock, sink, completeUpTo } = await live();
  const gap = (version: bigint) =>
    platform.emit('prediction', 'acct-1', { ...predictionRow, certainty: 'unknown_gap' }, version);
  gap(5n);
  await clock.advance(2_000);
  platform.listError = () => refusal;
  const from = sink.items.length;
  const secondMs = clock.nowMs();
  gap(6n);
  await clock.advance(200_000);
  expect(completeUpTo('prediction', from)).toBeLessThan(secondMs);
  platform.listError = undefined;
  await clock.advance(200_000);
  expect(completeUpTo('prediction', from)).toBeGreaterThan(secondMs + 200_000);
});
