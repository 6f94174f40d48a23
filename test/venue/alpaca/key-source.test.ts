import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/runtime/secret.ts';
import { keyPairSource } from '../../../src/venue/alpaca/key-source.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const rest = 'https://venue/v2/orders';

describe('issue: One refusal of a good key pair left its account without its stream for a minute.', () => {
  it('is tried again after 5 s, then after twice as long each time, and after 60 s at most', async () => {
    const clock = new VirtualClock();
    const keys = keyPairSource(clock, { keyId: 'PK1', secretKey: new Secret('hush') });
    const restsMs: number[] = [];
    for (let times = 0; times < 6; times += 1) {
      await keys.renew(1, rest);
      // Several requests were on their way.
      await clock.advance(100);
      await keys.renew(1, rest);
      let restMs = 100;
      for (; !(await keys.get(rest)).ok; restMs += 100) await clock.advance(100);
      restsMs.push(restMs);
    }
    expect(restsMs).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(keys.status()).toMatchObject({ state: 'login_required', lastError: expect.stringContaining('refuses') });
    keys.taken(1, rest);
    expect(keys.status()).toEqual({ state: 'held' });
    await keys.renew(1, rest);
    await clock.advance(5_000);
    expect(await keys.get(rest)).toMatchObject({ ok: true });
  });
});

describe('issue: No cancel went out while the stream of a venue refused a key that its orders took.', () => {
  it('is refused at the address that refuses it, and a person is told all the same', async () => {
    const clock = new VirtualClock();
    const keys = keyPairSource(clock, { keyId: 'PK1', secretKey: new Secret('hush') });
    const stream = 'wss://venue/stream';
    await keys.renew(1, stream);
    expect(await keys.get(stream)).toMatchObject({ ok: false, error: { code: 'LOGIN_REQUIRED' } });
    expect(await keys.get(rest)).toMatchObject({ ok: true });
    keys.taken(1, rest);
    expect(keys.status()).toMatchObject({ state: 'login_required' });
    keys.taken(1, stream);
    expect(keys.status()).toEqual({ state: 'held' });
  });

  it('is taken by the stream once that is open', async () => {
    const rig = connectorsRig();
    const taken: unknown[] = [];
    rig.platform.taken = (...how) => taken.push(how);
    await rig.begin();
    await rig.until('account', 'live');
    expect(taken).toEqual(expect.arrayContaining([[1, 'ws://account']]));
  });
});
