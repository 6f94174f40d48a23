import type { Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import type { WebSocket } from 'ws';
import type { Principal } from '../../../src/sandbox/auth/directory.ts';
import { Uncertainty } from '../../../src/sandbox/faults/uncertainty.ts';
import { StreamSession } from '../../../src/sandbox/stream/stream-session.ts';
import { book } from '../../support/platform/book.ts';
import { control, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';
import { PlatformStreamClient } from '../platform-stream-client.ts';

describe("issue: A gap's end made orders certain again that a later lost store still had to hold back.", () => {
  it('of two faults on one order, only the end of the later one makes it certain again', async () => {
    const { exchange, clock, account, open } = book();
    const uncertainty = new Uncertainty({ exchange, clock });
    const order = open();
    uncertainty.gap(account, 1000);
    await clock.advance(500);
    uncertainty.storeLost(account, 5000, 0);
    await clock.advance(4000);
    expect(order.certainty).toBe('unknown_store_lost');
    await clock.advance(1500);
    expect(order.certainty).toBe('certain');
  });
});

describe('issue: A half-open stream of the sandbox outlived its token, and stayed for as long as it ran.', () => {
  it('is cut when its token is revoked', async () => {
    const sandbox = await runningSandbox();
    const at = sandbox.description;
    const client = await PlatformStreamClient.open(at.stream, await signedIn(at));
    await control(at, '/faults', { now: [{ action: 'half_open' }] });
    await eventually(() => expect(sandbox.controls.status()).toMatchObject({ sessions: [{ halfOpen: true }] }));
    await control(at, '/faults', { now: [{ action: 'revoke_tokens' }] });
    expect((await client.ended()).code).toBe(1006);
  });

  it.each([
    ['ten heartbeats', 15_000, 150_000],
    ['a minute where heartbeats are fast: a reader notices the silence first', 200, 60_000],
  ])('is cut after %s', async (_what, heartbeatMs, lastsMs) => {
    const clock = new VirtualClock();
    const resetAndDestroy = vi.fn();
    const socket = { resetAndDestroy, writableLength: 0 } as unknown as Socket;
    const ws = { on: () => {}, pause: () => {} } as unknown as WebSocket;
    const principal = { expiresAtMs: clock.nowMs() + 3_600_000 } as Principal;
    const options = { heartbeatMs, maxBacklogBytes: 1, closeGraceMs: 1 };
    const manner = { opcode: 1, heartbeat: undefined, slowConsumer: undefined } as const;
    new StreamSession(1, { clock, ws, socket, principal, manner, onClosed: () => {} }, options).halfOpen();
    await clock.advance(lastsMs - 1);
    expect(resetAndDestroy).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(resetAndDestroy).toHaveBeenCalledOnce();
  });
});
