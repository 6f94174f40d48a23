// What a user saw: A filled order went back to working when old reports came again after a reconnect.

import { expect, it } from 'vitest';
import { fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { encodeEvent, encodeEventData } from '../../../src/sandbox/stream/client-message.ts';
import { account, CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';

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
