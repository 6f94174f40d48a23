// What a user saw: One instance refused a token an hour before its end, and another took it still.

import { expect, it } from 'vitest';
import { SharedClock } from '../../../src/runtime/shared-clock.ts';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const hour = 3_600_000;

it.each([-24, -1, 0, 1, 24])(
  'a token ends by the time of the database, with an own clock %i h ahead',
  async (hours) => {
    const clock = new VirtualClock(1_000 * hour);
    const sharedClock = new SharedClock(clock);
    const databaseMs = clock.nowMs() - hours * hour;
    await sharedClock.read(async () => databaseMs);
    const token = { name: 'desk', sha256: sha256('t'), scopes: ['orders:read'], accounts: ['ACC-1'] } as const;
    const active = async () => [{ ...token, expiresAtMs: databaseMs + hour / 2 }];
    const rig = await startRest({ clock, ports: { sharedClock }, principals: { active } });
    const status = async () =>
      (await ask(`${rig.address}/v1/orders?accountId=ACC-1`, { headers: { authorization: 'Bearer t' } })).status;
    expect(await status()).toBe(200);
    await clock.advance(hour / 2 + 1_000);
    expect(await status()).toBe(401);
    await rig.server.drain(AbortSignal.abort());
  },
);
