// What a user saw: No order event came for three hours, and no alarm was raised, because heartbeats came.

import { expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import { fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { noStreamFaults } from '../../simulation/plan/stream-faults.ts';
import { CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';
import { outcomeUnknown } from '../../support/commands/scripted-entry.ts';

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

    // And a command that nobody answers is settled without the stream.
    world.script({ applied: 'yes', answer: outcomeUnknown });
    const { commandId } = await world.send({ ...request, terms: { ...request.terms, price: '0.3' } } as CommandRequest);
    await world.until(() => world.command(commandId).state === 'applied', 10_000);
  },
  // An hour of audits: 4 s of processor time, and half a
  // minute on a machine that is busy otherwise.
  240_000,
);
