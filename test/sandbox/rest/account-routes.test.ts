import { describe, expect, it } from 'vitest';
import { flatError } from '../../../src/venue/platform/wire/error-bodies.ts';
import { userAccounts } from '../../../src/venue/platform/wire/user.ts';
import { ask, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';

describe('GET /v2/users/me/accounts', () => {
  it("lists the accounts of all users that the client was seeded with, and nobody else's", async () => {
    const { description: it } = await runningSandbox({ accounts: 5 });
    const answer = await ask(`${it.platform}/v2/users/me/accounts`, { headers: await signedIn(it) });
    expect(answer.status).toBe(200);
    const ids = userAccounts.parse(answer.json).accounts.map((account) => account.trading_account_id);
    const fields = ['trading_account_id', 'broker_account_id', 'status', 'is_sim', 'account_type', 'account_class'];
    expect(Object.keys(answer.json.accounts[0])).toEqual(fields);
    const [carol, ...others] = [...it.users].reverse();
    expect(carol?.username).toBe('carol');
    expect(ids.sort()).toEqual(others.flatMap((user) => user.accounts.map(({ id }) => id)).sort());
    expect(ids).toHaveLength(5);
  });

  it('needs the scope account:information', async () => {
    const { description: it } = await runningSandbox();
    const answer = await ask(`${it.platform}/v2/users/me/accounts`, {
      headers: await signedIn(it, 'order:information'),
    });
    expect(answer.status).toBe(403);
    flatError.parse(answer.json);
  });

  it('follows an account that closes', async () => {
    const { description: it, parts } = await runningSandbox();
    const account = parts.exchange.accounts.get('SIM-1001');
    if (account === undefined) throw new Error('no account');
    account.status = 'CLOSED';
    const answer = await ask(`${it.platform}/v2/users/me/accounts`, { headers: await signedIn(it) });
    expect(answer.json.accounts).toContainEqual(
      expect.objectContaining({ trading_account_id: 'SIM-1001', status: 'CLOSED' }),
    );
  });
});

describe('other paths', () => {
  it('health is open, unnamed paths are not there, and groups without a shape say so', async () => {
    const { description: it } = await runningSandbox();
    for (const base of [it.platform, it.staging, it.auth])
      expect((await ask(`${base}/v1/health`)).json).toEqual({ status: 'ok' });
    expect((await ask(`${it.platform}/v1/nothing`)).status).toBe(404);
    for (const path of ['news/latest', 'charts', 'charts/AAPL', 'options', 'options/chains']) {
      const { status, json } = await ask(`${it.platform}/v1/${path}`);
      expect([path, status, json.error.code]).toEqual([path, 501, 'NOT_SPECIFIED']);
      expect((await ask(`${it.staging}/v1/${path}?a=1`, { method: 'DELETE' })).status).toBe(501);
      expect((await ask(`${it.auth}/v1/${path}`)).status).toBe(404);
    }
    expect((await ask(`${it.platform}/v1/newsletters`)).status).toBe(404);
  });

  it('production answers prediction paths with 404', async () => {
    const { description: it } = await runningSandbox();
    const headers = await signedIn(it);
    for (const path of ['/v1/predictions/orders?accountId=SIM-1001', '/v1/predictions/orders/x?accountId=SIM-1001'])
      expect((await ask(`${it.platform}${path}`, { headers })).status).toBe(404);
  });
});
