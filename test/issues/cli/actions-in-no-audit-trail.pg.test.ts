// What a user saw: Logins that were unlinked were in no audit trail.

import { expect, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { storeRig } from '../../support/orders/store-rig.ts';
import { cliIo } from '../../support/rest/cli-io.ts';

// Who took a login away was written nowhere, and what was written could be read by SQL alone. (Rows
// of the quarantine are dealt with over REST, which writes each act with its line.)
it('actions of the command line are in the audit trail, which can be exported', async () => {
  await using rig = await storeRig();
  const run = async (...argv: string[]) => {
    const io = cliIo({ DATABASE_URL: rig.database.url });
    await runProgram(io, argv);
    expect(io.code(), io.err()).toBe(0);
    return io.out();
  };
  const exported = async (...flags: string[]) =>
    (await run('audit-log', 'export', ...flags))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  await rig.rows(`insert into credentials (credential, sealed, generation) values ('login:ann', '\\x00', 1)`);
  await run('link', '--remove', 'ann');
  await run('token', 'add', 'desk', '--scopes', 'orders:read', '--all-accounts');
  await rig.rows(
    `insert into audit_log (at, principal, action, account_id, reason, recorded_at)
     select now() - interval '1 hour', 'desk', 'halt', 'a', 'r' || i, now() - interval '1 hour' from generate_series(1, 1500) i`,
  );
  const all = await exported();
  expect(all).toHaveLength(1502);
  expect(all.slice(0, 2)).toMatchObject([
    { id: '1', principal: expect.stringMatching(/^database:/), action: 'unlink', detail: { login: 'ann' } },
    {
      id: '2',
      action: 'token_add',
      accountId: null,
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    },
  ]);
  expect((await exported('--after', '1500')).map(({ id }) => id)).toEqual(['1501', '1502']);
  expect(await exported('--action', 'unlink')).toHaveLength(1);
  expect(await exported('--action', 'halt', '--since', new Date().toISOString())).toEqual([]);
});
