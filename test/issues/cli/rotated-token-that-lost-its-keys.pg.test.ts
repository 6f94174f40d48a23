// What a user saw: After a principal got its next token, a repeated idempotency key made a second order.

import { expect, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { StaticTokens } from '../../../src/service/rest/auth/static-tokens.ts';
import { PostgresPrincipalStore } from '../../../src/store/principals.ts';
import { storeRig } from '../../support/orders/store-rig.ts';
import { cliIo } from '../../support/rest/cli-io.ts';

// Keys belong to the principal's name, and a name had one token: the next token was another name,
// and the same key made a second order.
it('a principal keeps its name, and with it its idempotency keys, under its next token', async () => {
  await using rig = await storeRig();
  const make = async (...argv: string[]) => {
    const io = cliIo({ DATABASE_URL: rig.database.url });
    await runProgram(io, ['token', ...argv]);
    expect(io.code(), io.err()).toBe(0);
    return io.out().trim();
  };
  const first = await make('add', 'desk', '--scopes', 'orders:write', '--accounts', 'SIM-1001');
  const next = await make('add', 'desk', '--another');
  const store = new PostgresPrincipalStore(rig.deps);
  const tokens = async () => {
    const known = new StaticTokens({ ...rig.deps, store }, { configured: [], refreshEveryMs: 60_000 });
    await known.start();
    known.stop();
    return [first, next].map((token) => known.find(token));
  };
  const desk = { name: 'desk', accounts: { kind: 'accounts', accountIds: ['SIM-1001'] } };
  expect(await tokens(), 'both while it changes over').toMatchObject([desk, desk]);
  await make('revoke', 'desk', '1');
  expect(await tokens()).toMatchObject([undefined, desk]);
});
