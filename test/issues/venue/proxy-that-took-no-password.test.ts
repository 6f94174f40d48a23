// What a user saw: A proxy's refusal of a wrong password asked for a user and password, which were given.

import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Proxies } from '../../../src/runtime/proxies.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { connectProxy } from '../../support/servers/connect-proxy.ts';

it.each([
  ['someone:hush-hush@', /407: it does not take the user and password/],
  ['', /407: it wants a user and password/],
])('a 407 to "%s" says what to do', async (credentials, words) => {
  const proxy = await connectProxy({ manner: { status: 407 }, portOf: () => 1 });
  const address = new Secret(`http://${credentials}127.0.0.1:${proxy.port}`);
  const http = new UndiciHttp({ clock: systemClock, proxies: new Proxies({ httpProxy: address }) });
  onTestFinished(() => http.close());
  const read = await http.request({ operation: 'health', method: 'GET', url: 'http://platform.test/', headers: {} });
  expect(read).toMatchObject({ kind: 'failed', sent: 'no', message: expect.stringMatching(words) });
  expect(JSON.stringify(read)).not.toContain('hush-hush');
});
