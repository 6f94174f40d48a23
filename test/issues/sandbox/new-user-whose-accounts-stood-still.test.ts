// What a user saw: The accounts of a user added by POST /users never had an order from the sandbox's market.

import { expect, it } from 'vitest';
import { control, controlLines, runningSandbox } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';

it('the market trades the accounts of a new user', async () => {
  const sandbox = await runningSandbox();
  const at = sandbox.description;
  const accounts = [{ id: 'SIM-2001', predictions: true }];
  await control(at, '/users', { username: 'dave', password: 'p', accounts });
  await control(at, '/burst', { count: 1000 });
  await eventually(() => expect(sandbox.controls.status()).toMatchObject({ changes: 1000 }));
  expect((await controlLines(at, '/state?accountId=SIM-2001')).length).toBeGreaterThan(0);
});
