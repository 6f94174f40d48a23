import { describe, expect, it } from 'vitest';
import { CommitsLostError, LossCheck, type LossCheckDeps } from '../../../src/service/fleet/loss-check.ts';
import type { FoundLoss } from '../../../src/store/fleet/lane-store.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

function rigWith(look: LossCheckDeps['look']) {
  const clock = new VirtualClock();
  const losses: FoundLoss[] = [];
  let looks = 0;
  const counted = () => {
    looks += 1;
    return look();
  };
  const check = new LossCheck({ look: counted, onLoss: (loss) => losses.push(loss), clock, log: silentLog });
  return { clock, check, losses, looks: () => looks };
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
