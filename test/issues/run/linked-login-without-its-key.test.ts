// What a user saw: The accounts of a linked login were not followed, and neither status nor alerts said so.

import { expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { sumOfSeries } from '../../../src/observability/read-metric.ts';
import type { StoredCredential } from '../../../src/runtime/token-store.ts';
import { Credentials } from '../../../src/service/run/credentials.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

// The key was missing at the next start: no process followed the login's accounts, and status,
// doctor, log and alerts said nothing.
it('a login that is stored and whose key is missing waits for a person, in status and metrics', async () => {
  const clock = new VirtualClock();
  const metrics = createMetrics();
  let stored: StoredCredential[] = [{ credential: 'login:alice', generation: 1 }];
  const absent = () => Promise.reject(new Error('no login is connected'));
  const credentials = new Credentials(
    {
      ...{ clock, log: silentLog, metrics: metrics.platform },
      list: { stored: async () => stored, forget: async () => false },
      connectors: { add: absent, remove: absent, end: async () => undefined },
      signedIn: () => {
        throw new Error('nothing can be made of a login without its key');
      },
    },
    { withClient: false, lookEveryMs: 2_000, unusable: 'TIDEMARK_ENCRYPTION_KEY is not set' },
  );
  await credentials.start();
  onTestFinished(async () => {
    const drained = credentials.drain();
    await clock.advance(5_000);
    await drained;
  });
  await clock.advance(100);
  expect(credentials.status()).toEqual([
    { credential: 'login:alice', state: 'login_required', lastError: 'TIDEMARK_ENCRYPTION_KEY is not set' },
  ]);
  expect(await sumOfSeries(metrics.platform.credentials, { state: 'login_required' })).toBe(1);
  expect(credentials.knowsAll, 'an account that is not followed may be one of its accounts').toBe(false);
  stored = [];
  await clock.advance(2_100);
  expect(credentials.status()).toEqual([]);
});
