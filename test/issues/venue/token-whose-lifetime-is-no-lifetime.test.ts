// What a user saw: Ten tokens a second were asked for, and every stream was opened anew for each of them.

import { expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { MemoryTokenStore, type Token } from '../../../src/runtime/token-store.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { Http } from '../../../src/venue/platform/http.ts';
import { RefreshingTokenSource } from '../../../src/venue/platform/token-source.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

/** The latest instant that a `timestamptz` has. */
const latestMs = Date.parse('9999-12-31T00:00:00Z');

/** A token endpoint that gives every token this lifetime, and a source at work for ten minutes. */
async function tenMinutesWith(expiresIn: string) {
  const clock = new VirtualClock(Date.parse('2026-11-21T12:00:00Z'));
  let asked = 0;
  const http: Http = {
    request: async () => {
      asked += 1;
      await clock.sleep(5);
      const text = `{"access_token":"t${asked}","token_type":"Bearer","expires_in":${expiresIn}}`;
      return { kind: 'answered', status: 200, headers: { 'content-type': 'application/json' }, text };
    },
    close: async () => undefined,
  };
  const saved: Token[] = [];
  const store = new MemoryTokenStore({ clock });
  const save = store.save.bind(store);
  store.save = (name, replaces, token) => {
    saved.push(token);
    return save(name, replaces, token);
  };
  const source = new RefreshingTokenSource(
    { http, clock, store, random: seededRandom(1), log: silentLog, metrics: createMetrics().platform },
    {
      name: 'client',
      holder: 'one',
      baseUrl: 'http://127.0.0.1:1',
      credential: { clientId: 'id', clientSecret: new Secret('hush') },
      grant: 'client_credentials',
    },
  );
  let renewed = 0;
  source.onRenewed(() => {
    renewed += 1;
  });
  await source.start();
  onTestFinished(() => source.drain());
  const first = source.get('http://platform');
  for (let second = 0; second < 600; second += 1) await clock.advance(1_000);
  return { result: await first, asked, renewed, saved };
}

it.each(['0', '-5', '0.001', '1e-9', '"0.2"', 'null', '""', '"never"', '1e400', '[]', '{}'])(
  'a lifetime of %s is taken for one that was left out',
  async (expiresIn) => {
    const { result, asked, renewed } = await tenMinutesWith(expiresIn);
    expect(result.ok).toBe(true);
    expect(asked).toBeLessThan(10);
    expect(renewed).toBeLessThan(10);
  },
);

it.each(['1e12', '1e13', '1e300', '9007199254740993', '"99999999999999999999"'])(
  'a lifetime of %s ends at a time that can be stored',
  async (expiresIn) => {
    const { result, asked, saved } = await tenMinutesWith(expiresIn);
    expect([result.ok, asked]).toEqual([true, 1]);
    expect(saved[0]?.expiresAtMs).toBeLessThan(latestMs);
  },
);

it.each(['1', '5', '30'])('a lifetime of %s s is a short one, and is kept to', async (expiresIn) => {
  const { asked } = await tenMinutesWith(expiresIn);
  expect(asked).toBeLessThanOrEqual(600 / (Number(expiresIn) * 0.8) + 2);
  expect(asked).toBeGreaterThan(500 / Number(expiresIn));
});
