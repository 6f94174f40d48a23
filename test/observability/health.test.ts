import { beforeEach, describe, expect, it } from 'vitest';
import { type CheckResult, type HealthCheck, HealthRegistry } from '../../src/observability/health.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';

let clock: VirtualClock;
let health: HealthRegistry;

beforeEach(() => {
  clock = new VirtualClock();
  health = new HealthRegistry({ clock }, { checkDeadlineMs: 2000, maxAgeMs: 1000 });
});

const fine: CheckResult = { ok: true, detail: 'fine' };
const bad: CheckResult = { ok: false, detail: 'bad' };
const check = (name: string, effect: HealthCheck['effect'], answer: () => Promise<CheckResult>): HealthCheck => ({
  name,
  effect,
  check: answer,
});

describe('the health registry', () => {
  it('is ready when every check passes', async () => {
    health.add(check('database', 'unready', async () => fine));
    expect(await health.report()).toEqual({
      status: 'ready',
      leader: true,
      checks: [{ name: 'database', effect: 'unready', ok: true, detail: 'fine', ms: 0 }],
    });
  });

  it.each([
    ['unready', 'unready', false],
    ['degraded', 'degraded', true],
    ['leader', 'ready', false],
  ] as const)('a failed check of effect %s makes it %s', async (effect, status, leader) => {
    health.add(check('broken', effect, async () => bad));
    health.add(check('working', 'unready', async () => fine));
    expect(await health.report()).toMatchObject({ status, leader });
  });

  it('takes a check that throws, at once or later, for failed', async () => {
    health.add(check('later', 'unready', async () => Promise.reject(new Error('down'))));
    health.add(
      check('at-once', 'unready', () => {
        throw new Error('broken');
      }),
    );
    const { checks } = await health.report();
    expect(checks.map(({ ok, detail }) => [ok, detail])).toEqual([
      [false, 'down'],
      [false, 'broken'],
    ]);
  });

  it('does not wait for a check that hangs longer than the deadline, and does not start it again meanwhile', async () => {
    let runs = 0;
    const hanging = () => {
      runs += 1;
      return new Promise<CheckResult>(() => {});
    };
    health.add(check('database', 'unready', hanging));
    const first = health.report();
    await clock.advance(2000);
    expect((await first).checks[0]).toMatchObject({ ok: false, detail: 'database took longer than 2000 ms', ms: 2000 });
    const second = health.report();
    await clock.advance(2000);
    expect((await second).status).toBe('unready');
    expect(runs).toBe(1);
  });

  it('asks once for all who want to know at the same time, and anew when the answer is old', async () => {
    let runs = 0;
    const counted = async () => {
      runs += 1;
      return fine;
    };
    health.add(check('database', 'unready', counted));
    await Promise.all([health.report(), health.report()]);
    await clock.advance(999);
    await health.report();
    expect(runs).toBe(1);
    await clock.advance(1);
    await health.report();
    expect(runs).toBe(2);
  });

  it('refuses two checks of one name', () => {
    health.add(check('lane', 'leader', async () => fine));
    expect(() => health.add(check('lane', 'leader', async () => fine))).toThrow(/already/);
  });
});
