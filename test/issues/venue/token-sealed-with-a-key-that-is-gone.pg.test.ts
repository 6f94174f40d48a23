// What a user saw: After TIDEMARK_ENCRYPTION_KEY was changed, the service never signed in again.

import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { Secret } from '../../../src/runtime/secret.ts';
import { PostgresTokenStore } from '../../../src/store/token-store.ts';
import { acquireToken, type CredentialOptions } from '../../../src/venue/platform/acquire-token.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { storeRig } from '../../support/orders/store-rig.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

const key = () => new Secret(randomBytes(32).toString('base64'));

// With another TIDEMARK_ENCRYPTION_KEY the service never signed in again, since its own token of
// before could not be read: nothing but SQL helped.
it('the client signs in again in its place, and a login waits for a person', async () => {
  await using stack = new AsyncDisposableStack();
  const rig = stack.use(await storeRig());
  const server = await scriptedServer((_, response) =>
    json(response, 200, { access_token: 'new', token_type: 'Bearer', expires_in: 3600 }),
  );
  stack.defer(server.close);
  const http = new UndiciHttp(rig.deps);
  stack.defer(() => http.close());
  const [before, after] = [key(), key()].map((it) => new PostgresTokenStore({ ...rig.deps, key: it }));
  if (before === undefined || after === undefined) throw new Error('unreachable');
  const token = {
    accessToken: new Secret('old'),
    refreshToken: new Secret('r0'),
    expiresAtMs: rig.deps.clock.nowMs() + 3_600_000,
  };
  for (const name of ['client', 'login:desk']) await before.save(name, 0, token);
  const acquire = (name: string, grant: CredentialOptions['grant']) => {
    const credential = { clientId: 'id', clientSecret: new Secret('hush') };
    return acquireToken(
      { ...rig.deps, http, store: after },
      { name, holder: 'one', baseUrl: server.url, credential, grant },
      0,
      {},
    );
  };

  expect(await acquire('client', 'client_credentials')).toMatchObject({ ok: true, token: { generation: 2 } });
  expect((await after.load('client'))?.accessToken?.reveal()).toBe('new');

  const message = expect.stringContaining('was not sealed with this key');
  expect(await acquire('login:desk', 'refresh')).toMatchObject({
    ok: false,
    error: { code: 'LOGIN_REQUIRED', message },
  });
  expect(server.received).toHaveLength(1);
  expect((await before.load('login:desk'))?.refreshToken?.reveal()).toBe('r0');
});
