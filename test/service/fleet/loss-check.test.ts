import { describe, expect, it } from 'vitest';
import { CommitsLostError, LossCheck, type LossCheckDeps } from '../../../src/service/fleet/loss-check.ts';
import type { FoundLoss } from '../../../src/store/fleet/lane-store.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

function rigWith(look: LossCheckDeps['look']) {
  const clock = new VirtualClock();
  const losses: FoundLoss[] = [];
  let looks = 0;
  const lease = { lane: 0, epoch: 1n };
  const counted: typeof look = (held) => {
    looks += 1;
    return look(held);
  };
  /** Whether something might still be sent when the lane was held back. */
  const heldBack: boolean[] = [];
  const check: LossCheck = new LossCheck({
    ...{ lease, look: counted, clock, log: silentLog },
    holdBack: async () => void heldBack.push(check.mayPublish),
    onLoss: (loss) => losses.push(loss),
  });
  return { clock, check, losses, heldBack, looks: () => looks };
}

describe('the look at Kafka when a term begins', () => {
  it('lets a term begin where the database lacks nothing', async () => {
    const rig = rigWith(async () => undefined);
    await rig.check.begin();
    await rig.clock.advance(60_000);
    expect([rig.looks(), rig.losses, rig.check.mayPublish]).toEqual([1, [], true]);
  });

  it('lets none begin where the database lacks what was published', async () => {
    const rig = rigWith(async () => ({ generation: 2 }));
    await expect(rig.check.begin()).rejects.toThrow(CommitsLostError);
    expect(rig.losses).toEqual([{ generation: 2 }]);
  });

  it('is made again until Kafka can be asked, while the term goes on', async () => {
    let away = true;
    const rig = rigWith(async () => {
      if (away) throw new Error('no broker answers');
      return { generation: 2 };
    });
    await rig.check.begin();
    await rig.clock.advance(12_000);
    expect([rig.looks(), rig.losses, rig.check.failingForMs, rig.check.mayPublish]).toEqual([3, [], 12_000, false]);
    away = false;
    await rig.clock.advance(60_000);
    expect(rig.check.failingForMs).toBeUndefined();
    expect([rig.looks(), rig.losses]).toEqual([4, [{ generation: 2 }]]);
  });

  it('holds up the publishing of a term that has shards to take, until Kafka can be asked again', async () => {
    let away = false;
    const rig = rigWith(async () => {
      if (away) throw new Error('no broker answers');
      return undefined;
    });
    await rig.check.begin();
    expect(rig.heldBack).toEqual([]);
    away = true;
    await rig.check.begin();
    expect([rig.check.mayPublish, rig.heldBack]).toEqual([false, [false]]);
    away = false;
    await rig.clock.advance(6_000);
    expect([rig.check.mayPublish, rig.losses]).toEqual([true, []]);
  });

  it('is not made any more for a term that has ended', async () => {
    const rig = rigWith(async () => {
      throw new Error('no broker answers');
    });
    await rig.check.begin();
    rig.check.end();
    await rig.clock.advance(60_000);
    expect([rig.looks(), rig.clock.armed]).toEqual([1, 0]);
  });
});

describe('issue: Updates went out in a term in which Kafka had not been asked for the newest ones.', () => {
  function checkWith(...answers: readonly (() => Promise<undefined>)[]) {
    const rest = [...answers];
    const look = () => rest.shift()?.() ?? Promise.reject(new Error('asked once more'));
    const inert = { holdBack: async () => undefined, onLoss: () => {}, clock: new VirtualClock(), log: silentLog };
    return new LossCheck({ lease: lane(0), look, ...inert });
  }

  const lane = (lane: number) => ({ lane, epoch: 1n });
  const well = async () => undefined;
  const away = () => Promise.reject(new Error('no broker answers'));

  it('an answer for the lane of another process says nothing of the own one', async () => {
    const check = checkWith(well, away, well);
    await check.begin();
    await expect(check.ask(lane(1))).rejects.toThrow('Kafka could not be asked');
    expect([check.mayPublish, check.failingForMs]).toEqual([true, undefined]);
    check.end();
    await check.ask(lane(1));
    expect(check.mayPublish).toBe(false);
  });

  // It counted as Kafka's answer in the next term, which then published
  // although Kafka could not be asked in it.
  it('an answer that comes after its term says nothing of the next one', async () => {
    const late = Promise.withResolvers<undefined>();
    const check = checkWith(() => late.promise, away);
    const begun = check.begin();
    check.end();
    await check.begin();
    late.resolve(undefined);
    await begun;
    expect([check.mayPublish, check.failingForMs]).toEqual([false, 0]);
    check.end();
  });
});
