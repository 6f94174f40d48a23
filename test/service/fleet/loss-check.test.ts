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
