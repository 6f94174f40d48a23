import { expect, it } from 'vitest';
import { sumOf } from '../../bench/prometheus-text.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { controlLines, runningSandbox } from '../support/platform/sandbox.ts';
import { call } from '../support/rest/rest-call.ts';
import { type RunningService, World } from '../support/runs/service-under-test.ts';
import { jwtIssuer } from '../support/servers/jwt-issuer.ts';

const accountId = 'SIM-1001';
const order = { accountId, symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };

it('a caller with a JWT sees and trades the accounts that the token names, and no others', async () => {
  const { description } = await runningSandbox();
  const issuer = await jwtIssuer('tidemark-orders');
  const world = await World.create({
    platform: platformSettings(description),
    env: { TIDEMARK_COMMANDS: 'on', ...issuer.env },
  });
  const service = await world.serve();
  await service.waitLive();
  expect(issuer.told.asked, 'the keys are read before the first token').toBeGreaterThan(0);

  const token = await issuer.sign({ accounts: [accountId] });
  const placed = await call(service, 'POST', '/v1/orders', { body: order, token, wait: 20 });
  expect([placed.status, placed.body.result], JSON.stringify(placed.body)).toEqual([200, 'applied']);
  expect(await world.query('select principal, account_id from commands')).toEqual([
    { principal: `jwt:${issuer.env.TIDEMARK_AUTH_ISSUER}#trader`, account_id: accountId },
  ]);
  const { body: mine } = await call(service, 'GET', '/v1/orders?limit=500', { token });
  expect(mine.items.length).toBeGreaterThan(0);
  expect(new Set(mine.items.map((item: { accountId: string }) => item.accountId))).toEqual(new Set([accountId]));
  const [{ orders = 0 } = {}] = await world.query<{ orders: number }>(
    `select count(*)::int as orders from orders where account_id <> '${accountId}'`,
  );
  expect(orders, 'there is more to see for others').toBeGreaterThan(0);

  const foreign = await call(service, 'POST', '/v1/orders', { body: { ...order, accountId: 'SIM-1002' }, token });
  expect([foreign.status, foreign.body.code]).toEqual([404, 'ACCOUNT_NOT_FOUND']);
  const [hidden] = await world.query<{ id: string }>(
    `select order_id as id from orders where account_id = 'SIM-1002' limit 1`,
  );
  const unseen = await call(service, 'GET', `/v1/orders/account/${hidden?.id}`, { token });
  expect([unseen.status, unseen.body.code]).toEqual([404, 'ORDER_NOT_FOUND']);
  const reader = await issuer.sign({ accounts: [accountId], scope: 'orders:read' });
  expect((await call(service, 'POST', '/v1/orders', { body: order, token: reader })).body.code).toBe(
    'INSUFFICIENT_SCOPE',
  );
  await expectRefused(service, await issuer.sign({ accounts: [accountId], aud: 'somebody-else' }));
  await expectRefused(service, await issuer.sign({ accounts: [accountId], exp: 1_000_000_000 }));
  await expectRefused(service, await issuer.sign({ accounts: [accountId], iss: 'https://somebody.example' }));
  expect((await call(service, 'GET', '/v1/orders')).body.code).toBe('UNAUTHENTICATED');

  expect(await controlLines(description, '/ledger?kind=decision'), 'what was refused was not sent').toHaveLength(1);
  const refused = sumOf(await service.metrics(), 'tidemark_rest_auth_failures_total', { reason: 'claims' });
  expect(refused).toBeGreaterThanOrEqual(2);
  expect(service.process.lines.join('\n'), 'the log holds no token').not.toContain(token.slice(-40));
  expect(await service.stop()).toBe(0);
});

async function expectRefused(service: RunningService, token: string): Promise<void> {
  const refused = await call(service, 'GET', '/v1/orders', { token });
  expect([refused.status, refused.body.code]).toEqual([401, 'INVALID_TOKEN']);
  expect(refused.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
}
