// What a user saw: Staging refused every token, and production's stream was opened anew each 15 s.

import { expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { MemoryTokenStore } from '../../../src/runtime/token-store.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { RefreshingTokenSource } from '../../../src/venue/platform/token-source.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

const staging = 'http://staging/v1';

async function tokenSource() {
  const server = await scriptedServer((_, response, count) =>
    json(response, 200, { access_token: `t${count}`, token_type: 'Bearer', expires_in: 86_400 }),
  );
  const clock = new VirtualClock();
  const http = new UndiciHttp({ clock: systemClock });
  const store = new MemoryTokenStore({ clock });
  const tokens = new RefreshingTokenSource(
    { http, clock, store, random: seededRandom(1), log: silentLog, metrics: createMetrics().platform },
    {
      ...{ name: 'client', holder: 'one', baseUrl: server.url, grant: 'client_credentials' },
      credential: { clientId: 'id', clientSecret: new Secret('hush') },
    },
  );
  onTestFinished(async () => {
    await tokens.drain();
    await http.close();
    await server.close();
  });
  const refusedNow = async () => {
    const held = await tokens.get(staging);
    if (held.ok) await tokens.renew(held.token.generation, staging);
  };
  return { tokens, server, clock, refusedNow };
}

it('a token that is refused at once, again and again, is renewed once a minute at most', async () => {
  const { server, clock, refusedNow } = await tokenSource();
  // A thousand accounts are read each minute by a host that refuses all of it.
  for (let second = 0; second < 600; second += 1) {
    await refusedNow();
    await clock.advance(1_000);
  }
  expect(server.received.length).toBeLessThan(20);
  expect(server.received.length).toBeGreaterThan(8);
});

it('one that was good for a while is renewed at once, and so is the next', async () => {
  const { server, clock, refusedNow } = await tokenSource();
  await refusedNow();
  expect(server.received).toHaveLength(2);
  await clock.advance(600_000);
  await refusedNow();
  await refusedNow();
  expect(server.received).toHaveLength(4);
});
