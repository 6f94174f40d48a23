import { expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { runningSandbox } from '../support/platform/sandbox.ts';
import { call } from '../support/rest/rest-call.ts';
import { eventually } from '../support/runs/poll.ts';
import { World } from '../support/runs/service-under-test.ts';
import { jwtIssuer } from '../support/servers/jwt-issuer.ts';

it('a JWT is good for as long as its key is the issuer’s, and the issuer is asked seldom', async () => {
  const { description } = await runningSandbox();
  const issuer = await jwtIssuer('tidemark-orders');
  const world = await World.create({ platform: platformSettings(description), env: issuer.env });
  const startedMs = systemClock.monotonicMs();
  const service = await world.serve();
  await service.waitLive();
  const token = await issuer.sign({ accounts: ['SIM-1001'] });
  expect((await call(service, 'GET', '/v1/orders?limit=1', { token })).status).toBe(200);

  await issuer.rotate();
  const newer = await issuer.sign({ accounts: ['SIM-1001'] });
  // Keys are fetched at most every 30 s, however many unknown ones are tried:
  // the first that comes after that is let in.
  await eventually(
    async () => expect((await call(service, 'GET', '/v1/orders?limit=1', { token: newer })).status).toBe(200),
    {
      deadlineMs: 120_000,
      everyMs: 500,
    },
  );
  const refused = await call(service, 'GET', '/v1/orders', { token });
  expect([refused.status, refused.body.code]).toEqual([401, 'INVALID_TOKEN']);
  const minutes = (systemClock.monotonicMs() - startedMs) / 60_000;
  expect(
    issuer.told.asked,
    'once a minute, and at most once in between for keys that are not known',
  ).toBeLessThanOrEqual(2 * minutes + 2);
  expect(service.process.lines.join('\n'), 'the log holds no token').not.toContain(newer.slice(-40));
  expect(await service.stop()).toBe(0);
});
