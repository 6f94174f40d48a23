import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import { fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { noStreamFaults } from '../../simulation/plan/stream-faults.ts';
import { CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';
import { outcomeUnknown } from '../../support/commands/scripted-entry.ts';
import { fillsOf } from '../../support/platform/fills-of.ts';

describe('issue: The last fill of an order was missing, and the position was wrong until a person looked.', () => {
  // The frame of the last fill was lost on a socket that stayed up and answered its pings; the
  // position was wrong until a person looked. What protects: the audit
  // (service/sources/account-session.ts).
  it.each([equity])(
    'the last fill of an order is booked although its frame was lost on a connection that went on',
    async (request) => {
      const world = await CommandWorld.start({ auditMs: 30_000 });
      const { order, command } = await world.working(request);
      const { stream } = world.simulated.platform;
      stream.faults = { ...noStreamFaults, silentLoss: 1 };
      fillOrder(world.exchange, order, whole(10), fixed('200'));
      stream.faults = noStreamFaults;
      await world.pass(5_000);
      expect(world.stored(order).cumQty, 'nobody told us').toBe('0');
      await world.until(() => world.stored(order).status === 'filled', 120_000);
      expect(fillsOf(world.updates(order))).toBe('10');
      expect(world.updates(order).at(-1)).toMatchObject({
        order: { commandId: command.commandId, origin: 'tidemark' },
      });
    },
  );
});

describe('issue: Fills that were made while the socket was down were never booked.', () => {
  // The socket came back, the subscription too, and nobody asked what had been filled in between.
  // What protects: the resync of a new connection (service/sources/account-session.ts).
  it.each([equity, prediction])(
    'what was filled of a $stream order while the socket was down is asked for when it is up again',
    async (request) => {
      const world = await CommandWorld.start();
      const { order } = await world.working(request);
      const { stream } = world.simulated.platform;
      stream.down = true;
      stream.end({ kind: 'closed', code: 1006, reason: '' }, true);
      fillOrder(world.exchange, order, whole(4), fixed('0.4'));
      await world.pass(10_000);
      fillOrder(world.exchange, order, whole(6), fixed('0.4'));
      stream.down = false;
      await world.until(() => world.stored(order).status === 'filled');
      expect(fillsOf(world.updates(order))).toBe('10');
    },
  );
});

describe('issue: No order event came for three hours, and no alarm was raised, because heartbeats came.', () => {
  // What protects: the audit (service/sources/account-session.ts).
  it.each([equity, prediction])(
    'a stream that only beats for an hour loses no fill of a $stream order: the audit finds it within its interval',
    async (request) => {
      const world = await CommandWorld.start({ auditMs: 60_000 });
      const { order } = await world.working(request);
      const { stream } = world.simulated.platform;
      stream.faults = { ...noStreamFaults, silentLoss: 1 };
      const dialled = stream.dialled;
      for (let filled = 1; filled <= 3; filled += 1) {
        fillOrder(world.exchange, order, whole(1), fixed('0.4'));
        await world.until(() => world.stored(order).cumQty === String(filled), 5 * 60_000);
        await world.pass(20 * 60_000);
      }
      expect(stream.dialled, 'the connection was never found dead').toBe(dialled);

      // And a command that nobody answers is resolved without the stream.
      world.script({ applied: 'yes', answer: outcomeUnknown });
      const { commandId } = await world.send({
        ...request,
        terms: { ...request.terms, price: '0.3' },
      } as CommandRequest);
      await world.until(() => world.command(commandId).state === 'applied', 10_000);
    },
    // An hour of audits: 4 s of processor time, and half a
    // minute on a machine that is busy otherwise.
    240_000,
  );
});

describe('issue: After an outage the venue got thousands of connections a second, each with a full read.', () => {
  const hour = 3_600_000;

  // What protects: `Backoff` (runtime/backoff.ts) and the schedule of probes
  // (service/commands/probe-watch.ts).
  it('an outage of an hour is asked into at a bounded, falling rate, by sockets and by probes, and one connection each follows it', async () => {
    const world = await CommandWorld.start();
    const { platform } = world.simulated;
    world.script({ applied: { lateMs: 500 }, answer: outcomeUnknown });
    const { commandId } = await world.send(equity);
    const sockets = platform.stream.connections;
    platform.stream.down = true;
    platform.http.down = true;
    platform.stream.end({ kind: 'closed', code: 1012, reason: 'restart' }, true);
    const asked = () => ({ dials: platform.stream.dialled, probes: world.reads.orderReads.length });
    const first = asked();
    await world.pass(60_000);
    const minute = asked();
    await world.pass(hour);
    const last = asked();

    // Two sockets, each tried about every 2.5 s on average at the longest backoff
    // of 5 s. One command is probed once a minute at most by then, and a probe
    // repeats its request with backoff for its 30 s.
    expect(minute.dials - first.dials).toBeLessThanOrEqual(60);
    expect(last.dials - minute.dials).toBeLessThanOrEqual((2 * hour) / 2_000);
    expect(last.probes - minute.probes).toBeLessThanOrEqual(60 * 10);
    platform.stream.down = false;
    platform.http.down = false;
    await world.until(() => platform.stream.connections === sockets);
    await world.until(() => world.command(commandId).state === 'applied', 10 * 60_000);
    expect(platform.stream.dialled - last.dials).toBeLessThanOrEqual(4);
  });
});
