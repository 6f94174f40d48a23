import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import { acceptPending, fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { encodeEvent, encodeEventData } from '../../../src/sandbox/stream/client-message.ts';
import { noStreamFaults } from '../../simulation/plan/stream-faults.ts';
import { account, CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';
import { timeout } from '../../support/commands/scripted-entry.ts';
import { fillsOf } from '../../support/platform/fills-of.ts';

describe('issue: After a restart, all earlier fills of an order were booked a second time.', () => {
  // After a restart the first report of an order was compared with nothing, and all that had been
  // filled before was booked again. What protects: `deriveFill` (domain/order-fields.ts) over the
  // head that was stored (service/orders/load-known.ts).
  it.each([equity, prediction])(
    'a process that comes back books of a $stream order what was filled since, and no fill again',
    async (request) => {
      const world = await CommandWorld.start();
      const { order } = await world.working(request);
      const fill = async (quantity: number, total: string) => {
        fillOrder(world.exchange, order, whole(quantity), fixed('0.4'));
        await world.until(() => world.isStored(order) && world.stored(order).cumQty === total);
      };
      await fill(3, '3');
      await world.restart();
      expect(fillsOf(world.updates(order))).toBe('3');
      await fill(2, '5');
      await world.restart();
      await world.restart();
      await fill(5, '10');
      expect(world.updates(order).flatMap(({ fill: booked }) => booked?.quantity ?? [])).toEqual(['3', '2', '5']);
    },
  );
});

describe('issue: One fill was booked twice: first from a read, then from its own late report.', () => {
  // What protects: `deriveFill` (domain/order-fields.ts), and repetitions that the reducers know.
  it.each([equity, prediction])(
    'a fill of a $stream order that a probe showed first is booked once when its own frame comes late',
    async (request) => {
      const world = await CommandWorld.start();
      const { order } = await world.working(request);
      const { stream } = world.simulated.platform;
      stream.faults = { ...noStreamFaults, silentLoss: 1 };
      fillOrder(world.exchange, order, whole(4), fixed('0.4'));
      const late = encodeEvent(order, encodeEventData(order));
      stream.faults = noStreamFaults;
      // A cancel that never arrived makes the resolver read the order.
      world.script({ applied: 'no', answer: timeout });
      const { orderId } = order.terms;
      const cancel: CommandRequest = { kind: 'cancel', stream: request.stream, accountId: account, orderId };
      await world.send(cancel);
      await world.until(() => world.stored(order).cumQty === '4');
      expect(world.updates(order).at(-1)).toMatchObject({ cause: 'probe', fill: { quantity: '4', inferred: true } });

      stream.push(`${request.stream}:${account}`, late);
      await world.pass(2_000);
      expect(fillsOf(world.updates(order))).toBe('4');
      fillOrder(world.exchange, order, whole(6), fixed('0.4'));
      await world.until(() => world.stored(order).status === 'filled');
      expect(fillsOf(world.updates(order))).toBe('10');
    },
  );
});

describe('issue: A filled order went back to working when old reports came again after a reconnect.', () => {
  // What protects: the join (domain/account-join.ts) and the version (domain/reduce.ts).
  it.each([equity, prediction])(
    'old frames of a $stream order that come again after a reconnect change nothing and are published to nobody',
    async (request) => {
      const world = await CommandWorld.start();
      const { order, command } = await world.working(request);
      const { stream } = world.simulated.platform;
      const frames: string[] = [];
      const keep = () => frames.push(encodeEvent(order, encodeEventData(order)));
      keep();
      fillOrder(world.exchange, order, whole(4), fixed('0.4'));
      keep();
      fillOrder(world.exchange, order, whole(6), fixed('0.4'));
      await world.until(() => world.stored(order).status === 'filled');
      stream.end({ kind: 'closed', code: 1006, reason: '' }, true);
      await world.pass(20_000);
      const before = world.updates(order);
      for (const frame of frames) stream.push(`${request.stream}:${account}`, frame);
      await world.pass(5_000);
      expect(world.updates(order)).toEqual(before);
      expect(world.stored(order)).toMatchObject({ status: 'filled', cumQty: '10', leavesQty: '0' });
      expect(world.command(command.commandId).state).toBe('applied');
    },
  );
});

describe('issue: An open order appeared as a second, new order after it had dropped out of a full cache.', () => {
  // A bounded cache dropped the least recently used order, which was open; its next report
  // made a new order out of nothing. What protects: `loadKnown`
  // (service/orders/load-known.ts) reads back what the cache has dropped.
  it('an open order that many others have driven out of the cache goes on where it was, and its replace is resolved', async () => {
    const world = await CommandWorld.start();
    Object.assign(world.simulated.settings.ingest, { headCacheCount: 1 });
    await world.restart();
    const { command, order } = await world.working();
    const { commandId } = await world.sendPendingReplace(order, { quantity: '20' });
    world.simulated.platform.entered.venue.set({ answerMs: 5 });
    for (let i = 1; i <= 20; i += 1) {
      await world.working({ ...equity, terms: { ...equity.terms, qty: String(i) } });
      if (i === 10) await world.restart();
    }
    acceptPending(world.exchange, order);
    fillOrder(world.exchange, order, whole(20), fixed('0.4'));
    await world.until(() => world.stored(order).status === 'filled');

    await world.until(() => world.command(commandId).state === 'applied');
    const updates = world.updates(order);
    expect(updates.map(({ revision }) => revision)).toEqual(updates.map((_, i) => i + 1));
    expect(new Set(updates.map(({ order: state }) => state.commandId))).toEqual(new Set([command.commandId]));
  });
});
