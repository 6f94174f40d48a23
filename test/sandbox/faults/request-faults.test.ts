import { describe, expect, it } from 'vitest';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import { ask, control, controlLines, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';

const accountId = 'SIM-1001';

const list = async (at: SandboxDescription) =>
  ask(`${at.platform}/v1/orders?accountId=${accountId}&limit=500`, { headers: await signedIn(at) });
const met = (at: SandboxDescription, fault: string, more: object = {}) =>
  control(at, '/faults', { rules: [{ on: 'request', fault, method: 'GET', ...more }] });

describe('a read', () => {
  it.each([
    ['status_401', 401],
    ['status_403', 403],
    ['status_429', 429],
    ['status_500', 500],
    ['status_503', 503],
    ['html', 502],
    ['redirect', 302],
  ])('meets %s as often as the rule says, and then is answered', async (fault, status) => {
    const { description: at } = await runningSandbox();
    await met(at, fault, { times: 2 });
    expect([(await list(at)).status, (await list(at)).status, (await list(at)).status]).toEqual([status, status, 200]);
    const answers = await controlLines(at, '/ledger?kind=answer');
    expect(answers.filter((line) => line.fault === fault)).toHaveLength(2);
  });

  it.each(['torn', 'reset'])('breaks by %s, and the ledger knows', async (fault) => {
    const { description: at } = await runningSandbox();
    await met(at, fault);
    await expect(list(at)).rejects.toThrow();
    expect((await list(at)).status).toBe(200);
    const answers = await controlLines(at, '/ledger?kind=answer');
    expect(answers.filter((line) => line.fault === fault)).toEqual([expect.objectContaining({ status: null })]);
  });

  it('hangs until it heals', async () => {
    const { description: at } = await runningSandbox();
    await met(at, 'hang');
    const result = { resolved: false };
    const hanging = list(at).then(
      () => {
        result.resolved = true;
      },
      () => {
        result.resolved = true;
      },
    );
    await eventually(async () => {
      const answers = await controlLines(at, '/ledger?kind=answer');
      expect(answers.some((line) => line.fault === 'hang')).toBe(true);
    });
    expect(result.resolved).toBe(false);
    await control(at, '/heal');
    await hanging;
  });

  it('is met only where the rule points', async () => {
    const { description: at } = await runningSandbox();
    await met(at, 'status_500', { path: '/v2/users' });
    expect((await list(at)).status).toBe(200);
    expect((await ask(`${at.platform}/v2/users/me/accounts`, { headers: await signedIn(at) })).status).toBe(500);
  });

  it('shows an older state while lists lag, by list and by id, and the present one when it healed', async () => {
    const { description: at } = await runningSandbox({ market: { knownOrders: 0, openOrders: 0 } });
    const { json: old } = await control(at, '/orders', { stream: 'account', accountId });
    await control(at, '/faults', { requests: { lag: 1 }, lagMs: 60_000 });
    await control(at, `/orders/${old.ordId}`, { action: 'cancel' });
    const { json: young } = await control(at, '/orders', { stream: 'account', accountId });
    // Lists go back to when they began to lag, not further.
    expect((await list(at)).json.orders).toEqual([old]);
    const headers = await signedIn(at);
    const one = () => ask(`${at.platform}/v1/orders/${young.ordId}?accountId=${accountId}`, { headers });
    expect((await one()).status).toBe(404);
    const closed = await ask(`${at.platform}/v1/orders?accountId=${accountId}&status=closed`, { headers });
    expect(closed.json.orders).toEqual([]);
    await control(at, '/heal');
    expect((await one()).status).toBe(200);
    const orders: { ordId: string; ordStatus: string }[] = (await list(at)).json.orders;
    expect(orders.map((order) => [order.ordId, order.ordStatus])).toEqual([
      [old.ordId, 'CANCELED'],
      [young.ordId, 'NEW'],
    ]);
  });

  it('catches up with the truth by itself', async () => {
    const { description: at } = await runningSandbox({ market: { knownOrders: 0, openOrders: 0 } });
    await control(at, '/faults', { requests: { lag: 1 }, lagMs: 200 });
    const { json } = await control(at, '/orders', { stream: 'account', accountId });
    await eventually(async () => expect((await list(at)).json.orders).toEqual([json]));
    await control(at, `/orders/${json.ordId}`, { action: 'cancel' });
    await eventually(async () => expect((await list(at)).json.orders[0].ordStatus).toBe('CANCELED'));
  });

  it('meets faults by their rate, but health and keys stay well', async () => {
    const { description: at } = await runningSandbox();
    await control(at, '/faults', { requests: { status_500: 1 } });
    expect((await list(at)).status).toBe(500);
    expect((await ask(`${at.platform}/v1/health`)).status).toBe(200);
    expect((await ask(`${at.platform}/v1/oauth2/jwks`)).status).toBe(200);
  });
});

it('the token endpoint meets faults by rule', async () => {
  const { description: at } = await runningSandbox();
  await control(at, '/faults', { rules: [{ on: 'request', fault: 'status_500', path: '/v1/oauth2/token' }] });
  expect((await ask(`${at.platform}/v1/oauth2/token`, { method: 'POST', body: new URLSearchParams({}) })).status).toBe(
    500,
  );
});

it.each([
  { stream: { gremlins: 1 } },
  { stream: { drop: 2 } },
  { rules: [{ on: 'event', fault: 'html' }] },
  { rules: [{ on: 'event', fault: 'drop', times: 0 }] },
  { now: [{ action: 'cut', how: 'scissors' }] },
  { unknown: true },
])('an order for faults that makes no sense is refused: %j', async (body) => {
  const { description: at } = await runningSandbox();
  expect((await control(at, '/faults', body)).status).toBe(400);
  expect((await ask(`${at.control}/faults`)).json).toMatchObject({ stream: {}, rules: [] });
});
