import { describe, expect, it } from 'vitest';
import { Pacer } from '../../../src/sandbox/market/pacer.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

function paced(rate: number, options: { held?: () => boolean; step?: () => boolean } = {}) {
  const clock = new VirtualClock();
  const counted = { steps: 0 };
  const step = () => {
    const moved = options.step?.() ?? true;
    if (moved) counted.steps += 1;
    return moved;
  };
  const pacer = new Pacer({ clock, step, held: options.held ?? (() => false) }, { rate, catchUpMs: 1000 });
  return { clock, counted, pacer };
}

describe('the pacer', () => {
  it.each([0.5, 1, 20, 333, 5000, 40_000])('makes %d steps a second', async (rate) => {
    const { clock, counted, pacer } = paced(rate);
    pacer.start();
    await clock.advance(10_000);
    expect(Math.abs(counted.steps - rate * 10)).toBeLessThanOrEqual(Math.max(1, rate * 0.004));
    pacer.stop();
    await clock.advance(10_000);
    expect(Math.abs(counted.steps - rate * 10)).toBeLessThanOrEqual(Math.max(1, rate * 0.004));
    expect(clock.armed).toBe(0);
  });

  it('makes none at rate 0, and begins when it gets one', async () => {
    const { clock, counted, pacer } = paced(0);
    pacer.start();
    await clock.advance(60_000);
    expect(counted.steps).toBe(0);
    pacer.setRate(100);
    await clock.advance(1000);
    expect(counted.steps).toBeGreaterThanOrEqual(99);
    expect(counted.steps).toBeLessThanOrEqual(101);
  });

  it('catches up after a hold, within its bound, and counts what it dropped', async () => {
    let held = true;
    const { clock, counted, pacer } = paced(1000, { held: () => held });
    pacer.start();
    await clock.advance(500);
    held = false;
    await clock.advance(500);
    expect(counted.steps).toBeGreaterThanOrEqual(998);
    held = true;
    await clock.advance(10_000);
    held = false;
    await clock.advance(100);
    expect(counted.steps).toBeLessThanOrEqual(2110);
    expect(pacer.dropped).toBeGreaterThanOrEqual(8900);
  });

  it('makes a burst at once, on top of the rate', async () => {
    const { clock, counted, pacer } = paced(0);
    pacer.start();
    pacer.burst(50_000);
    await clock.advance(1);
    expect(counted.steps).toBe(50_000);
    await clock.advance(10_000);
    expect(counted.steps).toBe(50_000);
  });

  it('gives a burst up when there is nothing to move', async () => {
    const { clock, counted, pacer } = paced(0, { step: () => false });
    pacer.start();
    pacer.burst(100);
    await clock.advance(1000);
    expect(counted.steps).toBe(0);
    expect(clock.armed).toBe(0);
  });
});
