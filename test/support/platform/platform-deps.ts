import { onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { Proxies } from '../../../src/runtime/proxies.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { MemoryTokenStore } from '../../../src/runtime/token-store.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { RefreshingTokenSource } from '../../../src/venue/platform/token-source.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import type { ReadDeps } from '../../../src/venue/read-venue.ts';
import { silentLog } from '../runs/silent-log.ts';

/**
 * Real time, but waits of the backoff are over at once: what is shown is what is asked, not when.
 */
const hastyClock: Clock = { ...systemClock, sleep: () => systemClock.turn() };

/**
 * Everything that a client method needs, with tokens from the token
 * endpoint of `baseUrl`. Closed with the test.
 */
export function platformDeps(
  baseUrl: string,
  client: { readonly clientId: string; readonly clientSecret: string } = { clientId: 'id', clientSecret: 'hush' },
  proxies: Proxies = new Proxies(),
): ReadDeps {
  const http = new UndiciHttp({ clock: systemClock, proxies });
  onTestFinished(() => http.close());
  const metrics = createMetrics().platform;
  const random = seededRandom(1);
  const store = new MemoryTokenStore({ clock: systemClock });
  const credential = { clientId: client.clientId, clientSecret: new Secret(client.clientSecret) };
  const tokens = new RefreshingTokenSource(
    { http, clock: systemClock, store, random, log: silentLog, metrics },
    { name: 'client', holder: 'test', baseUrl, credential, grant: 'client_credentials' },
  );
  return { http, clock: hastyClock, random, tokens, metrics };
}
