// What a user saw: An HTTP library repeated an order by itself after a 504, and the venue took both.

import { expect, it } from 'vitest';
import type { CommandRequest } from '../../../../src/domain/command.ts';
import { createMetrics } from '../../../../src/observability/metrics.ts';
import { systemClock } from '../../../../src/runtime/clock.ts';
import type { WriteFault } from '../../../../src/sandbox/faults/fault-shapes.ts';
import { PlatformOrderEntry } from '../../../../src/service/run/order-entry.ts';
import { SocketWriteLines } from '../../../../src/venue/platform/socket-write-lines.ts';
import { orderClient } from '../../../support/commands/order-entry.ts';
import { fixedToken } from '../../../support/commands/order-writes.ts';
import { controlLines } from '../../../support/platform/sandbox.ts';

const accountId = 'SIM-1001';
const prediction = {
  symbol: 'FED-CUT-DEC26',
  outcome: 'YES',
  side: 'buy',
  orderType: 'limit',
  timeInForce: 'gtc',
  quantity: '10',
  price: '0.4',
};
const equity = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'GTC', price: '200' };

const requests: Readonly<Record<string, (orderId: string) => CommandRequest>> = {
  'a place of an equity order': () => ({ kind: 'place', stream: 'account', accountId, terms: equity }),
  'a place of a prediction order': () => ({ kind: 'place', stream: 'prediction', accountId, terms: prediction }),
  'a replace': (orderId) => ({ kind: 'replace', stream: 'prediction', accountId, orderId, terms: { quantity: '12' } }),
  'a cancel': (orderId) => ({ kind: 'cancel', stream: 'prediction', accountId, orderId }),
};
const faults: readonly WriteFault[] = [
  'outcome_unknown',
  'status_504',
  'status_503',
  'status_429',
  'torn',
  'reset',
  'redirect',
];

// HTTP libraries repeat by themselves: a POST on 504 and 503, a DELETE after a reset, anything on
// a redirect. The venue had each of them. What protects: one `writeOrder` a call
// (venue/platform/order-writes.ts) over a socket of our own
// (venue/platform/socket-write-lines.ts) that repeats nothing.
it.each(Object.entries(requests))(
  '%s reaches the platform once, whatever it answers, and is unknown',
  async (_name, request) => {
    const client = await orderClient({ market: { openOrders: 0, knownOrders: 0 } });
    const token = client.headers.authorization.slice('Bearer '.length);
    const entry = new PlatformOrderEntry(
      {
        accounts: { hasListed: true, tokensFor: () => fixedToken(token), account: () => undefined },
        lines: new SocketWriteLines({ clock: systemClock }),
        clock: systemClock,
        metrics: createMetrics().platform,
      },
      { platformUrl: client.at.platform, stagingUrl: client.at.staging },
    );
    for (const [index, fault] of faults.entries()) {
      const asked = request(await client.working());
      const writes = async () =>
        (await controlLines(client.at, '/ledger?kind=request')).filter(({ method, url }) => isWrite(method, url));
      const before = (await writes()).length;
      await client.fault({ fault, applied: 'yes' });
      const signal = AbortSignal.timeout(30_000);
      const result = await entry.send(asked, `tm-case-2-${index}`, {
        signal,
        mayWrite: async () => true,
        mayStillWrite: () => true,
      });
      expect(result, fault).toMatchObject({ kind: 'unknown' });
      expect((await writes()).length - before, `writes after ${fault}`).toBe(1);
    }
  },
);

function isWrite(method: string, url: string): boolean {
  return method !== 'GET' && url.includes('/orders');
}
