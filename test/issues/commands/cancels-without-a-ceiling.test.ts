// What a user saw: 400 cancels of one caller became 400 requests to the platform, without any limit.

import { describe, expect, it } from 'vitest';
import { commandDefaults } from '../../../src/service/commands/command-options.ts';
import {
  atCapacity,
  CommandRig,
  cancelWorking,
  placePrediction,
  unknown,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';

const ceiling = { cancelRate: { perSecond: 10, burst: 20 } };

const cancelOf = (orderId: string) => ({ ...cancelWorking, orderId });

/** A holder whose platform has an order of any id. */
async function leading(over: Parameters<typeof CommandRig.leading>[0], count = 40) {
  const rig = await CommandRig.leading(over);
  const known = ['later', 'one-more', 'x', 'y', ...Array.from({ length: count }, (_, n) => `id-${n}`)];
  for (const orderId of known) rig.commit({ ...workingOrder, orderId }, { handed: false });
  rig.commit({ ...workingOrder, accountId: 'acct-2', orderId: 'other' }, { handed: false });
  return rig;
}

describe('cancels', () => {
  it('above the ceiling of their account are declined with the time to wait, and cost the platform nothing', async () => {
    const rig = await leading(ceiling, 400);
    const asked = Array.from({ length: 400 }, (_, n) => rig.commands.submit(rig.submission(cancelOf(`id-${n}`))));
    const results = await rig.during(Promise.all(asked));
    const declined = results.filter((result) => result.kind === 'declined');
    expect(declined.length).toBeGreaterThan(350);
    expect(declined[0]).toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: expect.any(Number) });
    expect(rig.entry.sent.length).toBeLessThan(50);
    await rig.clock.advance(2_000);
    expect((await rig.send(cancelOf('later'))).state).toBe('accepted');
  });

  it('have a ceiling of their own: neither places nor another account use it up', async () => {
    const rig = await leading({ ...ceiling, rate: { perSecond: 1, burst: 1 } });
    for (let n = 0; n < 5; n += 1) await rig.submit(placePrediction);
    await rig.during(
      Promise.all(Array.from({ length: 40 }, (_, n) => rig.commands.submit(rig.submission(cancelOf(`id-${n}`))))),
    );
    expect(await rig.declined(cancelOf('one-more'))).toBe('RATE_LIMITED');
    expect(
      (await rig.send({ ...cancelOf('other'), accountId: 'acct-2' } as unknown as typeof cancelWorking)).state,
    ).toBe('accepted');
  });

  it('again under the same key cost nothing', async () => {
    const rig = await leading(ceiling);
    for (let times = 0; times < 60; times += 1) await rig.send(cancelOf('x'), { idempotencyKey: 'one' });
    expect((await rig.send(cancelOf('y'))).state).toBe('accepted');
  });

  it('of a cancel-all pass: its list is the ceiling', async () => {
    const rig = await CommandRig.leading(ceiling);
    for (let n = 0; n < 100; n += 1) rig.commit({ ...workingOrder, orderId: `o-${n}` }, { handed: false });
    const all = rig.commands.cancelAll({ kind: 'account', accountId: 'acct-1' }, { ...word, idempotencyKey: 'all' });
    expect(await rig.during(all)).toMatchObject({ open: false });
    expect(rig.entry.sent).toHaveLength(100);
  });

  it('have a ceiling by default that no person reaches', () => {
    expect(commandDefaults.cancelRate.burst).toBeGreaterThanOrEqual(500);
    expect(commandDefaults.cancelRate.perSecond).toBeGreaterThanOrEqual(50);
  });
});

describe('of one order', () => {
  it('one cancel at a time is written, and each is', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    let inFlight = 0;
    let most = 0;
    rig.entry.onWrite = () => {
      inFlight += 1;
      most = Math.max(most, inFlight);
    };
    rig.entry.route = () => ({
      answerMs: 100,
      result: () => {
        inFlight -= 1;
        return { kind: 'accepted', answer: {} };
      },
    });
    const results = await rig.during(
      Promise.all([1, 2, 3].map(() => rig.commands.submit(rig.submission(cancelWorking)))),
    );
    expect(results).toMatchObject([1, 2, 3].map(() => ({ command: { state: 'accepted' } })));
    expect([most, rig.entry.sent.length]).toEqual([1, 3]);
  });

  it('a cancel that waits for another until its deadline is not sent, and says why', async () => {
    const rig = await CommandRig.leading({ deadlineMs: 3_000 });
    rig.commit(workingOrder);
    rig.entry.scripts.push({ answerMs: 10_000, result: unknown });
    const first = rig.commands.submit(rig.submission(cancelWorking));
    await rig.clock.advance(10);
    const second = await rig.send(cancelWorking);
    expect(second).toMatchObject({ state: 'not_sent', reason: { code: 'ORDER_ACTION_PENDING' } });
    await rig.during(first);
    expect((await rig.send(cancelWorking)).state).toBe('accepted');
    expect(rig.entry.sent).toHaveLength(2);
  });
});

// Ten attempts in ten seconds for each command, whatever `Retry-After` said.
describe('further attempts', () => {
  it('wait for as long as the platform asks', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: { ...atCapacity, retryAfterMs: 4_000 } as typeof atCapacity });
    await rig.send(placePrediction);
    const [first, second] = rig.entry.sent;
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(4_000);
  });

  it('are not made where the platform asks for more than the deadline leaves', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: { ...atCapacity, retryAfterMs: 60_000 } as typeof atCapacity });
    expect(await rig.send(placePrediction)).toMatchObject({
      state: 'not_sent',
      reason: { code: 'ORDER_ENTRY_AT_CAPACITY' },
    });
    expect(rig.entry.sent).toHaveLength(1);
  });

  it('take from the budget of their account', async () => {
    const rate = { perSecond: 4, burst: 8 };
    const rig = await CommandRig.leading({ rate });
    rig.entry.route = () => ({ result: atCapacity });
    const placing = Array.from({ length: 8 }, (_, n) =>
      rig.commands.submit(
        rig.submission({ ...placePrediction, terms: { ...placePrediction.terms, quantity: String(n + 1) } }),
      ),
    );
    const beganMs = rig.clock.monotonicMs();
    await rig.during(Promise.all(placing));
    const tookMs = rig.clock.monotonicMs() - beganMs;
    expect(rig.entry.sent.length).toBeGreaterThan(10);
    expect(rig.entry.sent.length).toBeLessThanOrEqual(rate.burst + (rate.perSecond * tookMs) / 1000 + 1);
  });
});
