import { describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import { storeRig } from '../support/orders/store-rig.ts';
import { cliIo } from '../support/rest/cli-io.ts';

describe('issue: Logins that were unlinked were in no audit trail.', () => {
  // Who took a login away was written nowhere, and what was written could be read by SQL alone.
  // (Dead letters are dealt with over REST, which writes each act with its line.)
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
});

describe('issue: Lines of the audit trail were in none of the exports, each begun behind the last.', () => {
  const line = (reason: string, recorded = 'now()') =>
    `insert into audit_log (at, principal, action, reason, recorded_at) values (now(), 'desk', 'halt', '${reason}', ${recorded})`;

  /** Each wait passes at once. */
  function quickClock(clock: Clock): Clock {
    let passedMs = 0;
    const sleep = async (ms: number) => {
      passedMs += ms;
    };
    return Object.create(clock, {
      sleep: { value: sleep },
      monotonicMs: { value: () => clock.monotonicMs() + passedMs },
    });
  }

  async function opened() {
    const rig = await storeRig();
    const seen: string[] = [];
    let last = '0';
    /** Goes on behind what was seen, as an archive does. */
    const exported = async () => {
      const io = cliIo({ DATABASE_URL: rig.database.url });
      Object.assign(io, { clock: quickClock(io.clock) });
      await runProgram(io, ['audit-log', 'export', '--after', last]);
      expect(io.code(), io.err()).toBe(0);
      for (const text of io
        .out()
        .split('\n')
        .filter((each) => each !== '')) {
        const { id, reason } = JSON.parse(text) as { id: string; reason: string };
        seen.push(reason);
        last = id;
      }
      return io.err();
    };
    return { rig, seen, exported, [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose]() };
  }

  it('a clock that was set back hides no line', async () => {
    await using open = await opened();
    const { rig, seen, exported } = open;
    await rig.pool.query(line('before', `now() + interval '1 hour'`));
    await rig.pool.query(line('after', `now() - interval '2 minutes'`));
    await exported();
    await rig.pool.query(`alter table audit_log disable trigger user`);
    await rig.pool.query(`update audit_log set recorded_at = now() - interval '1 hour'`);
    await exported();
    expect(seen).toEqual(['before', 'after']);
  });

  it('a transaction that stays open holds the later lines back, by name, and loses none', async () => {
    await using open = await opened();
    const { rig, seen, exported } = open;
    const old = `now() - interval '2 minutes'`;
    await rig.pool.query(line('first', old));
    const client = await rig.pool.connect();
    try {
      await client.query('begin; set local idle_in_transaction_session_timeout = 0');
      await client.query(line('by hand', old));
      await rig.pool.query(line('last', old));
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      expect(await exported()).toContain(`process ${rows[0]?.pid} of the database`);
      expect(seen).toEqual(['first']);
      await client.query('commit');
    } finally {
      client.release();
    }
    expect(await exported()).toBe('');
    expect(seen).toEqual(['first', 'by hand', 'last']);
  });

  it('a line that was rolled back holds nothing back', async () => {
    await using open = await opened();
    const { rig, seen, exported } = open;
    await rig.pool.query(line('first'));
    await rig.pool.query(`begin; ${line('gone')}; rollback`);
    await rig.pool.query(line('last'));
    await exported();
    expect(seen).toEqual(['first', 'last']);
  });
});
