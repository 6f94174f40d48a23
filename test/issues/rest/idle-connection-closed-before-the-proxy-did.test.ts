// What a user saw: A proxy in front of REST answered 502 to a place, now and then, after a quiet half minute.

import { expect, it, onTestFinished } from 'vitest';
import { startRest } from '../../support/rest/rest-rig.ts';

it('an idle connection is kept for longer than the 60 s of usual proxies', async () => {
  const { server, address } = await startRest();
  onTestFinished(() => server.drain(new AbortController().signal));
  const { headers } = await fetch(`${address}/v1/me`);
  expect(headers.get('keep-alive')).toBe('timeout=75');
});
