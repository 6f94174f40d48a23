import { describe, expect, it } from 'vitest';
import {
  type Fitness,
  type FitnessReading,
  fitAtFirst,
  judgeFitness,
  type Trouble,
} from '../../src/domain/judge-fitness.ts';

const rules = {
  troubledForMs: 20_000,
  firstCoolDownMs: 60_000,
  mostCoolDownMs: 200_000,
  forgetMs: 3_600_000,
  proofForMs: 20_000,
};

/** A process whose fitness is judged every second. */
function judged() {
  let nowMs = 0;
  let fitness: Fitness = fitAtFirst(rules, nowMs);
  return {
    /** True: it is unhealthy at the end of this time. */
    during(seconds: number, trouble: Trouble | undefined, others: Partial<FitnessReading> = {}): boolean {
      for (let second = 0; second < seconds; second += 1) {
        nowMs += 1_000;
        fitness = judgeFitness(fitness, { nowMs, trouble, anotherTakes: true, isOwn: true, ...others }, rules);
      }
      return fitness.unhealthy !== undefined;
    },
    get fitness() {
      return fitness;
    },
  };
}

const alone = { anotherTakes: false, isOwn: false };
const allTroubled = { isOwn: false };

describe('a process', () => {
  it('is unhealthy after 20 s of one trouble, or of one after the other, and not after less', () => {
    const process = judged();
    expect(process.during(20, 'sockets_down')).toBe(false);
    expect(process.during(1, undefined)).toBe(false);
    expect(process.during(15, 'sockets_down')).toBe(false);
    expect(process.during(6, 'relay_stuck')).toBe(true);
    expect(process.fitness.unhealthy).toEqual({ cause: 'relay_stuck' });
  });

  it.each([
    ['is alone', alone],
    ['sees that all others have a trouble too', allTroubled],
  ])('that %s is never unhealthy, and then once another one is well', (_, others) => {
    const process = judged();
    expect(process.during(600, 'sockets_down', others)).toBe(false);
    expect(process.during(1, 'sockets_down')).toBe(true);
  });

  it('that is unhealthy stays so while the others have a trouble too, and is fit at once when it is left alone', () => {
    const process = judged();
    process.during(21, 'sockets_down');
    expect(process.during(600, 'sockets_down', allTroubled)).toBe(true);
    expect(process.during(1, 'sockets_down', alone)).toBe(false);
  });

  it('that is unhealthy is healthy again after a minute without a trouble, which a new one begins anew', () => {
    const process = judged();
    process.during(21, 'loop_late');
    expect(process.during(60, undefined)).toBe(true);
    expect(process.during(1, 'loop_late')).toBe(true);
    expect(process.during(60, undefined)).toBe(true);
    expect(process.during(1, undefined)).toBe(false);
  });

  it('waits twice as long each time, up to a bound, and as at first after an hour', () => {
    const process = judged();
    const secondsUntilFit = () => {
      process.during(21, 'sockets_down');
      let seconds = 0;
      while (process.during(1, undefined)) seconds += 1;
      return seconds;
    };
    expect([secondsUntilFit(), secondsUntilFit(), secondsUntilFit(), secondsUntilFit()]).toEqual([60, 120, 200, 200]);
    process.during(3_600, undefined);
    expect(secondsUntilFit()).toBe(60);
  });
});
