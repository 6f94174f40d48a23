// What a user saw: The stream was marked complete up to a time from which events were still on the way.

import { describe, expect, it } from 'vitest';
import type { ContinuityMark } from '../../../src/domain/observation.ts';
import { liveConnectors } from '../../support/orders/connectors-rig.ts';
import { accountRow } from '../../support/platform/platform-rows.ts';

const hourMs = 3_600_000;
const cut = { kind: 'closed', code: 1006, reason: '' } as const;

/**
 * Live on both streams, with pongs that lie behind other bytes from now on: frames that are read
 * now are older than the newest ping that was answered.
 */
async function congested() {
  const rig = await liveConnectors();
  await rig.clock.advance(6_000);
  const socket = rig.socket('account');
  const held: (() => void)[] = [];
  socket.pong = (handOver) => held.push(handOver);
  const provenMs = socket.ponged.at(-1) ?? 0;
  const from = rig.sink.items.length;
  /** The times that the marks of the stream have claimed since: `at`, and the `from` of a gap. */
  const claims = () =>
    rig.sink.items
      .slice(from)
      .filter((item): item is ContinuityMark => item.kind === 'continuity' && item.stream === 'account')
      .map(({ event, atMs, fromMs }) => ({ event, upToMs: fromMs ?? atMs }));
  /** Frames come, of which none is as new as the ping that was answered last. */
  const oldFramesFor = async (seconds: number) => {
    for (let i = 0; i < seconds; i += 1) {
      socket.deliver('{"type":"heartbeat","timestamp":"2026-11-21T14:30:00Z"}');
      await rig.clock.advance(1_000);
    }
  };
  return { ...rig, stream: socket, held, provenMs, claims, oldFramesFor };
}

// A frame that is read says nothing of older ones, which may still lie in the kernel, in a
// paused socket or behind a freeze: "complete up to" and the beginning of a gap were the
// time at which the newest frame was read.
describe('what is called complete', () => {
  it('ends where the last ping left whose pong was read, whatever frames are read since', async () => {
    const { claims, oldFramesFor, provenMs } = await congested();
    await oldFramesFor(32);
    expect(claims().map(({ event }) => event)).toEqual(['heartbeat', 'heartbeat']);
    for (const { upToMs } of claims()) expect(upToMs).toBe(provenMs);
  });

  it('is not moved by the beginning of a gap either', async () => {
    const { claims, oldFramesFor, provenMs, stream } = await congested();
    await oldFramesFor(8);
    stream.end(cut);
    expect(claims().at(-1)).toEqual({ event: 'lost', upToMs: provenMs });
  });

  it('goes on to the ping that a late pong answers, not to the time of the pong or to a newer ping', async () => {
    const { claims, oldFramesFor, provenMs, held, stream } = await congested();
    await oldFramesFor(11);
    expect(held.length).toBeGreaterThan(1);
    held[0]?.();
    const answeredMs = stream.ponged.at(-1) ?? 0;
    expect(answeredMs).toBeGreaterThan(provenMs);
    stream.end(cut);
    expect(claims().at(-1)).toEqual({ event: 'lost', upToMs: answeredMs });
  });

  it('is not moved by a pong that was not asked for, or by one that comes twice', async () => {
    const { claims, oldFramesFor, held, stream } = await congested();
    await oldFramesFor(6);
    held[0]?.();
    const answeredMs = stream.ponged.at(-1);
    await oldFramesFor(10);
    for (const payload of ['', '1', '2', '3', '4', 'tidemark']) stream.deliverPong(payload);
    held[0]?.();
    stream.end(cut);
    expect(claims().at(-1)).toEqual({ event: 'lost', upToMs: answeredMs });
  });

  it('stands still while we hold the socket back', async () => {
    const { claims, clock, platform, sink, provenMs } = await congested();
    sink.full = true;
    platform.emit('account', 'acct-1', accountRow);
    await clock.advance(40_000);
    for (const { upToMs } of claims()) expect(upToMs).toBe(provenMs);
    expect(claims().length).toBeGreaterThan(1);
  });

  it('ends before a frame that can not be read, as early as that may have been sent', async () => {
    const { claims, oldFramesFor, platform, provenMs, stream, held } = await congested();
    platform.getError = platform.listError = () => ({ status: 503, message: 'down', retryable: true, sent: 'yes' });
    await oldFramesFor(9);
    platform.emit('account', 'acct-1', { ...accountRow, qty: 'many' });
    for (const handOver of held.splice(0)) handOver();
    stream.pong = (handOver) => handOver();
    await oldFramesFor(30);
    expect(claims().length).toBeGreaterThan(1);
    for (const { upToMs } of claims()) expect(upToMs).toBe(provenMs);
  });

  it.each([hourMs, -hourMs])(
    'claims no more when our wall clock is set by %i ms between the ping and the mark',
    async (byMs) => {
      const { claims, clock, oldFramesFor, provenMs } = await congested();
      clock.stepWall(byMs);
      await oldFramesFor(16);
      const upToMs = claims()[0]?.upToMs ?? Number.POSITIVE_INFINITY;
      expect(upToMs).toBeLessThanOrEqual(provenMs);
      expect(upToMs).toBeLessThanOrEqual(provenMs + byMs);
      expect(upToMs).toBeGreaterThan(provenMs - hourMs - 100);
    },
  );

  it('does not go back when a connection with a newer token takes over, and goes on by the pongs of that one', async () => {
    const { claims, clock, platform, held, stream, socket } = await congested();
    for (const handOver of held.splice(0)) handOver();
    stream.pong = (handOver) => handOver();
    await clock.advance(20_000);
    const before = Math.max(...claims().map(({ upToMs }) => upToMs));
    platform.renewToken();
    await clock.advance(100);
    expect(stream.state).toBe('ended');
    const next = socket('account');
    next.pong = () => {};
    const provenMs = stream.ponged.at(-1) ?? 0;
    await clock.advance(15_000);
    for (const { upToMs } of claims().slice(-1)) expect(upToMs).toBeGreaterThanOrEqual(Math.max(before, provenMs));
    next.pong = (handOver) => handOver();
    await clock.advance(20_000);
    expect(next.ponged).toContain(claims().at(-1)?.upToMs);
    expect(claims().map(({ event }) => event)).not.toContain('lost');
  });
});
