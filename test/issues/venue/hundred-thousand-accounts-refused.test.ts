// What a user saw: With more than some 46,000 accounts, not one account was ever listed.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { listAccounts } from '../../../src/venue/platform/platform-reads.ts';
import type { TokenSource } from '../../../src/venue/platform/token-source.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';

const token = { secret: new Secret('t'), generation: 1, expiresAtMs: Number.MAX_SAFE_INTEGER };
const tokens: TokenSource = {
  get: async () => ({ ok: true, token }),
  renew: async () => ({ ok: true, token }),
  taken: () => {},
  onRenewed: () => () => {},
};

/** An account as the platform writes it, with every field. */
function item(i: number) {
  const id = String(i).padStart(12, '0');
  return {
    trading_account_id: `b7c1f0de-1c2d-4e3f-8a9b-${id}`,
    broker_account_id: `BRK${id}`,
    ...{ status: 'OPEN', is_sim: false, account_type: 'INDIVIDUAL', account_class: 'MARGIN' },
  };
}

async function listOf(body: string) {
  const server = createServer((_, response) => response.setHeader('content-type', 'application/json').end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const http = new UndiciHttp({ clock: systemClock });
  onTestFinished(async () => {
    await http.close();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const deps = { http, clock: systemClock, random: seededRandom(1), tokens, metrics: createMetrics().platform };
  const signal = new AbortController().signal;
  return { list: await listAccounts(deps, `http://127.0.0.1:${port}`, signal), http, port };
}

// The list has no pages, and an answer was read up to 8 MiB: above some 46,000 accounts none was
// ever listed, where docs/capacity.md says 100,000.
it('the list of 100,000 accounts is read', async () => {
  const accounts = Array.from({ length: 100_000 }, (_, i) => item(i));
  const { list, http, port } = await listOf(JSON.stringify({ accounts }));
  expect(list.complete && list.accounts.length).toBe(100_000);
  // The bound is that of this request alone.
  const other = await http.request({ operation: 'x', method: 'GET', url: `http://127.0.0.1:${port}/`, headers: {} });
  expect(other).toMatchObject({ kind: 'failed', code: 'too_large' });
});
