import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/runtime/secret.ts';
import { keyPairSource } from '../../../src/venue/alpaca/key-source.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

describe('issue: One refusal of a good key pair left its account without its stream for a minute.', () => {
  it('is tried again after 5 s, then after twice as long each time, and after 60 s at most', async () => {
    const clock = new VirtualClock();
    const keys = keyPairSource(clock, { keyId: 'PK1', secretKey: new Secret('hush') });
    const restsMs: number[] = [];
    for (let times = 0; times < 6; times += 1) {
      await keys.renew();
      // Several requests were on their way.
      await clock.advance(100);
      await keys.renew();
      let restMs = 100;
      for (; !(await keys.get()).ok; restMs += 100) await clock.advance(100);
      restsMs.push(restMs);
    }
    expect(restsMs).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(keys.status()).toMatchObject({ state: 'login_required', lastError: expect.stringContaining('refuses') });
    keys.taken();
    expect(keys.status()).toEqual({ state: 'held' });
    await keys.renew();
    await clock.advance(5_000);
    expect(await keys.get()).toMatchObject({ ok: true });
  });
});
