// What a user saw: A place was shown as `applied` for ever although the venue had refused its order.

import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import { recomputeVerdict } from '../../../src/domain/recompute-verdict.ts';
import {
  CommandRig,
  placeEquity,
  placePrediction,
  refused,
  unknown,
  word,
} from '../../support/commands/command-rig.ts';

const pending = { status: 'pending_new', statusRaw: 'PENDING_NEW' } as const;
const working = { status: 'new', statusRaw: 'NEW' } as const;
const venueRefused = {
  status: 'rejected',
  statusRaw: 'REJECTED',
  leavesQty: '0',
  rejectReason: 'RISK',
  rejectText: 'insufficient buying power',
} as const;

/** A place of which only its order tells: the platform's answer was lost. */
async function pendingPlace(
  request: CommandRequest = placePrediction,
): Promise<{ rig: CommandRig; commandId: string }> {
  const rig = await CommandRig.leading();
  rig.entry.scripts.push({ result: unknown });
  const { commandId } = await rig.send(request);
  rig.land(commandId, pending);
  await rig.clock.advance(10);
  return { rig, commandId };
}

/** What `tidemark command show` computes from the facts. */
function recomputed(rig: CommandRig, commandId: string) {
  const command = rig.command(commandId);
  const { stream } = command.request;
  return recomputeVerdict(command, rig.evidence(commandId), rig.orders.updatesAfter(stream, `of-${commandId}`, 0, 100));
}

// Placed, pending_new, then "insufficient buying power": the command said `applied` for ever.
describe.each([
  ['prediction', placePrediction],
  ['account', placeEquity],
] as const)('a place whose %s order the venue has not taken yet', (_stream, request) => {
  it('is accepted and bound: not applied, and no doubt any more', async () => {
    const { rig, commandId } = await pendingPlace(request);
    expect(rig.command(commandId)).toMatchObject({
      state: 'accepted',
      orderId: `of-${commandId}`,
      orderStatus: 'pending_new',
    });
    expect(rig.commands.status()).toMatchObject({ unresolved: 0, oldestUnresolvedMs: undefined });
    expect(recomputed(rig, commandId)).toMatchObject({ state: 'accepted', agrees: true });
  });

  it('is rejected, with the reason of the venue, once the order is', async () => {
    const { rig, commandId } = await pendingPlace(request);
    rig.commit(rig.landed(commandId, venueRefused));
    await rig.clock.advance(10);
    expect(rig.command(commandId)).toMatchObject({
      state: 'rejected',
      orderStatus: 'rejected',
      reason: { code: 'RISK', message: 'insufficient buying power' },
    });
    expect(rig.commands.operator.halts.list()).toEqual([]);
    expect(recomputed(rig, commandId)).toEqual({ state: 'rejected', because: 'venue_refused', agrees: true });
  });

  it.each([
    'new',
    'done_for_day',
    'suspended',
    'partially_filled',
    'filled',
    'canceled',
    'expired',
    'replaced',
  ] as const)('is applied once the order is %s', async (status) => {
    const { rig, commandId } = await pendingPlace(request);
    rig.commit(rig.landed(commandId, { status }));
    await rig.clock.advance(10);
    expect(rig.command(commandId)).toMatchObject({ state: 'applied', orderStatus: status });
    expect(recomputed(rig, commandId)).toMatchObject({ state: 'applied', agrees: true });
  });

  it('is applied by a fill, whatever the status says', async () => {
    for (const over of [
      { ...pending, cumQty: '1' },
      { ...venueRefused, cumQty: '1' },
      { status: 'unknown', cumQty: '1' },
    ] as const) {
      const { rig, commandId } = await pendingPlace(request);
      rig.commit(rig.landed(commandId, over));
      await rig.clock.advance(10);
      expect(rig.state(commandId)).toBe('applied');
    }
  });

  it('is not judged by a view that the platform itself is not certain of', async () => {
    const { rig, commandId } = await pendingPlace(request);
    for (const over of [working, venueRefused] as const) {
      rig.commit(rig.landed(commandId, { ...over, certainty: 'unknown_gap' }));
      await rig.clock.advance(10);
      expect(rig.state(commandId)).toBe('accepted');
    }
  });

  it('is applied when the order worked before it ended rejected, also where both are heard at once', async () => {
    const { rig, commandId } = await pendingPlace(request);
    rig.commit(rig.landed(commandId, working));
    rig.commit(rig.landed(commandId, venueRefused));
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('applied');
    expect(recomputed(rig, commandId)).toMatchObject({ state: 'applied', agrees: true });
  });
});

// An account order has one word for both: PENDING_CANCEL says nothing of the venue.
it('a place of an account order is not applied by the request that is pending for it', async () => {
  const { rig, commandId } = await pendingPlace(placeEquity);
  rig.commit(rig.landed(commandId, { status: 'new', statusRaw: 'PENDING_CANCEL', pendingAction: 'cancel' }));
  await rig.clock.advance(10);
  expect(rig.state(commandId)).toBe('accepted');
  expect(recomputed(rig, commandId)).toMatchObject({ state: 'accepted', agrees: true });
  rig.commit(rig.landed(commandId, venueRefused));
  await rig.clock.advance(10);
  expect(rig.state(commandId)).toBe('rejected');
  expect(recomputed(rig, commandId)).toMatchObject({ state: 'rejected', agrees: true });
});

describe('a place that waits for the venue alone', () => {
  it('is asked about by no probe and pages nobody, however long it takes', async () => {
    const { rig, commandId } = await pendingPlace();
    const before = rig.probes.asked.length;
    await rig.clock.advance(3 * 3_600_000);
    expect(rig.probes.asked.slice(before)).toEqual([]);
    expect(rig.codes(commandId)).not.toContain('escalated');
    expect(rig.state(commandId)).toBe('accepted');
  });

  it('is no doubt that halts, and holds up no place with equal terms', async () => {
    const { rig } = await pendingPlace();
    for (const _time of [2, 3, 4]) {
      rig.entry.scripts.push({ result: unknown });
      const { commandId } = await rig.send(placePrediction);
      rig.land(commandId, pending);
      await rig.clock.advance(10);
    }
    expect(rig.commands.operator.halts.list()).toEqual([]);
  });

  it.each([
    ['took', working, 'applied'],
    ['refused', venueRefused, 'rejected'],
  ] as const)('is settled by who takes the lane, where the venue %s it meanwhile', async (_how, over, state) => {
    const { rig, commandId } = await pendingPlace();
    rig.commands.endAll();
    rig.commit(rig.landed(commandId, over), { handed: false });
    const next = await CommandRig.leading({}, rig);
    await next.clock.advance(1_000);
    expect(rig.state(commandId)).toBe(state);
    expect(next.commands.operator.halts.list()).toEqual([]);
  });

  it('is still followed by who takes the lane, and settled by what comes then', async () => {
    const { rig, commandId } = await pendingPlace();
    rig.commands.endAll();
    const next = await CommandRig.leading({}, rig);
    await next.clock.advance(60_000);
    expect(next.probes.asked).toEqual([]);
    next.commit(rig.landed(commandId, venueRefused));
    await next.clock.advance(10);
    expect(rig.state(commandId)).toBe('rejected');
  });

  it('is settled from the log where a hand-over was missed', async () => {
    const { rig, commandId } = await pendingPlace();
    rig.commit(rig.landed(commandId, working), { handed: false });
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('applied');
  });

  it('is denied by a late answer that nothing was done: alarm and halt, and the order decides', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ answerMs: 1_000, result: refused(400) });
    const sending = rig.commands.submit(rig.submission(placePrediction));
    await rig.clock.advance(100);
    const [commandId = ''] = rig.journal.commands.keys();
    rig.land(commandId, pending);
    await rig.during(sending);
    expect(rig.state(commandId)).toBe('accepted');
    expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'late_landing' }]);
    rig.commit(rig.landed(commandId, working));
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('applied');
  });

  it('may be settled by a person, whom only an order that works contradicts', async () => {
    const { rig, commandId } = await pendingPlace();
    await rig.during(rig.commands.operator.settle(commandId, 'rejected', word));
    expect(recomputed(rig, commandId)).toMatchObject({ state: 'rejected', because: 'person', agrees: true });
    rig.commit(rig.landed(commandId, { ...pending, leavesQty: '10' }));
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('rejected');
    rig.commit(rig.landed(commandId, working));
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('applied');
    expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'late_landing' }]);
    expect(recomputed(rig, commandId)).toMatchObject({ state: 'applied', agrees: true });
  });
});
