import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load-config.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { ConfigRecord } from '../../../src/service/run/config-record.ts';
import { storeRig } from '../../support/orders/store-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

describe('issue: The audit trail did not show that the configuration had changed.', () => {
  const secret = 'a-secret-of-the-platform';
  const key = Buffer.alloc(32, 7).toString('base64');

  it('a term whose configuration differs from the one recorded last writes what differs, and no secret', async () => {
    await using rig = await storeRig();
    const term = async (env: Record<string, string>) => {
      const loaded = loadConfig(env, () => '');
      if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
      const action = new ConfigRecord(
        { pool: rig.pool, clock: systemClock, random: systemRandom, log: silentLog },
        { ...loaded, instance: 'one' },
      );
      action.begin();
      await action.end();
    };
    const actions = () =>
      rig.rows<{ principal: string; detail: { changed: Record<string, unknown> } }>(
        `select principal, detail from audit_log where action = 'configuration' order by id`,
      );
    const env = { TIDEMARK_ENCRYPTION_KEY: key, PLATFORM_CLIENT_SECRET: secret, TIDEMARK_AUDIT_INTERVAL_MS: '60000' };
    await term(env);
    await term(env);
    expect(await actions()).toMatchObject([
      {
        principal: expect.stringMatching(/^database:/),
        detail: {
          instance: 'one',
          changed: { PLATFORM_CLIENT_SECRET: 'changed', TIDEMARK_AUDIT_INTERVAL_MS: { from: null, to: '60000' } },
        },
      },
    ]);
    await term({ ...env, TIDEMARK_AUDIT_INTERVAL_MS: '30000' });
    await term({ ...env, TIDEMARK_AUDIT_INTERVAL_MS: '30000', PLATFORM_CLIENT_SECRET: 'another' });
    await term({ TIDEMARK_ENCRYPTION_KEY: key, TIDEMARK_AUDIT_INTERVAL_MS: '30000' });
    const all = await actions();
    expect(all.slice(1).map(({ detail }) => detail.changed)).toEqual([
      { TIDEMARK_AUDIT_INTERVAL_MS: { from: '60000', to: '30000' } },
      { PLATFORM_CLIENT_SECRET: 'changed' },
      { PLATFORM_CLIENT_SECRET: 'changed' },
    ]);
    expect(JSON.stringify(all)).not.toMatch(new RegExp(`${secret}|another|${key.slice(0, 20)}`));
  });

  it('a configuration that could not be written at the start of a term is written later in it', async () => {
    await using rig = await storeRig();
    const loaded = loadConfig({ TIDEMARK_AUDIT_INTERVAL_MS: '60000' }, () => '');
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
    const clock = new VirtualClock();
    let failures = 2;
    const query = (...asked: unknown[]) => {
      if (failures > 0) {
        failures -= 1;
        return Promise.reject(new Error('away'));
      }
      return (rig.pool.query as (...asked: unknown[]) => Promise<unknown>)(...asked);
    };
    const pool = new Proxy(rig.pool, { get: (of, name) => (name === 'query' ? query : Reflect.get(of, name)) });
    const action = new ConfigRecord(
      { pool, clock, random: systemRandom, log: silentLog },
      { ...loaded, instance: 'one' },
    );
    action.begin();
    await eventually(async () => {
      await clock.advance(60_000);
      expect(await rig.rows(`select 1 from audit_log where action = 'configuration'`)).toHaveLength(1);
    });
    expect(failures).toBe(0);
    await action.end();
  });
});
