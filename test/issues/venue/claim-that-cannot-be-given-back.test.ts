// What a user saw: The accounts of a login stopped working although the platform had just given a new token.

import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { MemoryTokenStore } from '../../../src/runtime/token-store.ts';
import { acquireToken } from '../../../src/venue/platform/acquire-token.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

class StickyStore extends MemoryTokenStore {
  override async unclaim(): Promise<void> {
    throw new Error('the database went away');
  }
}

async function setUp() {
  const server = await scriptedServer((_, response, count) =>
    json(response, 200, { access_token: `t${count}`, token_type: 'Bearer', expires_in: 1000 }),
  );
  const http = new UndiciHttp({ clock: systemClock });
  onTestFinished(async () => {
    await http.close();
    await server.close();
  });
  const deps = { http, clock: systemClock, store: new StickyStore({ clock: systemClock }) };
  const credential = { clientId: 'id', clientSecret: new Secret('hush') };
  const options = {
    name: 'client',
    holder: 'one',
    baseUrl: server.url,
    credential,
    grant: 'client_credentials',
  } as const;
  return { server, acquire: (beyond: number) => acquireToken(deps, options, beyond, {}) };
}

// Found by reading: the claim was given back in `finally`, and when the store failed just then, its
// error took the place of the token that had been had and stored: the credential counted as
// unavailable, and with it every read, stream and command of its accounts.
it('is no reason to throw away the token that was had under it', async () => {
  const { server, acquire } = await setUp();
  expect(await acquire(0)).toMatchObject({ ok: true, token: { generation: 1 } });
  expect(server.received).toHaveLength(1);
});

it('is no reason to throw away a token that somebody else has stored', async () => {
  const { server, acquire } = await setUp();
  await acquire(0);
  expect(await acquire(0)).toMatchObject({ ok: true, token: { generation: 1 } });
  expect(server.received).toHaveLength(1);
});
