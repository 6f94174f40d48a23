import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { retryTransaction } from '../../../src/store/session/retry-transaction.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const transient = Object.assign(new Error('deadlock'), { code: '40P01', severity: 'ERROR' });

function rig() {
  const clock = new VirtualClock();
  return { clock, deps: { clock, random: seededRandom(1) } };
}

describe('a transaction', () => {
  it('is run again while it fails with what is likely to pass', async () => {
    const { clock, deps } = rig();
    let tries = 0;
    const result = retryTransaction(deps, async () => {
      tries += 1;
      if (tries < 4) throw transient;
      return 'done';
    });
    await clock.advance(2_000);
    expect(await result).toBe('done');
    expect(tries).toBe(4);
  });

  it('is not run again after anything else', async () => {
    const { deps } = rig();
    let tries = 0;
    const result = retryTransaction(deps, async () => {
      tries += 1;
      throw Object.assign(new Error('denied'), { code: '42501', severity: 'ERROR' });
    });
    await expect(result).rejects.toThrow('denied');
    expect(tries).toBe(1);
  });

  it('is given up with its last error once its time is over', async () => {
    const { clock, deps } = rig();
    let tries = 0;
    const result = retryTransaction(
      deps,
      async () => {
        tries += 1;
        throw transient;
      },
      { forMs: 1_000 },
    );
    const failed = expect(result).rejects.toBe(transient);
    await clock.advance(5_000);
    await failed;
    expect(tries).toBeGreaterThan(2);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(5_000);
  });
});
