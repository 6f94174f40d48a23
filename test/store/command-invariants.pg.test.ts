import { describe, expect, it } from 'vitest';
import { attemptStates, type CommandState, commandStates } from '../../src/domain/command.ts';
import {
  answered,
  atMs,
  fence,
  newCancelAll,
  newPlace,
  sending,
  unknown,
} from '../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig } from '../support/commands/journal-rig.ts';
import { attemptMoves, commandMoves } from '../support/commands/journal-rules.ts';

const forbidden = expect.stringMatching(/^(TM010|23514)$/);

/** A statement of the database's owner, to whom nothing is forbidden by privilege. */
function refused(rig: JournalRig, code: unknown, text: string, values: unknown[] = []): Promise<void> {
  return expect(rig.pool.query(text, values), text).rejects.toMatchObject({ code });
}

describe('the database, asked by its owner in plain SQL,', () => {
  it('keeps one command per principal and key, one row per number, and one attempt per id', async () => {
    await using rig = await journalRig();
    const { commandId } = await sending(rig.journal);
    const other = { command_id: 'gen_random_uuid()', attempt_id: "'tm-2'", idempotency_key: "'k-2'" };
    await refused(rig, '23505', await copied(rig, { ...other, idempotency_key: 'idempotency_key' }));
    await refused(rig, '23505', await copied(rig, { ...other, attempt_id: 'attempt_id' }));
    await rig.pool.query(await copied(rig, other));
    await refused(
      rig,
      '23505',
      await rowBehind(rig, commandId, {
        number: 'number',
        attempt: 'null',
        attempt_from: 'null',
        attempt_state: 'null',
      }),
    );
  });

  it('lets an opening begin open with an attempt that is prepared or sending, or refused without one', async () => {
    await using rig = await journalRig();
    await rig.journal.open(newPlace(), fence);
    const other = {
      command_id: 'gen_random_uuid()',
      attempt_id: "'tm-' || gen_random_uuid()",
      idempotency_key: "'k-2'",
    };
    for (const state of attemptStates.filter((each) => each !== 'prepared' && each !== 'sending'))
      await refused(rig, forbidden, await copied(rig, { ...other, attempt_state: `'${state}'` }));
    for (const state of commandStates.filter((each) => each !== 'open'))
      await refused(rig, forbidden, await copied(rig, { ...other, state: `'${state}'` }));
    for (const change of [
      { version: '2' },
      { number: '2' },
      { principal: 'null' },
      { account_id: 'null' },
      { request_kind: "'other'" },
      { symbol: 'null' },
      { request_kind: "'cancel'" },
      { attempt_id: "'x-1'" },
    ])
      await refused(rig, forbidden, await copied(rig, { ...other, ...change }));
  });

  it.each(['unknown', 'accepted', 'rejected', 'sending', 'prepared'] as const)(
    'prepares no attempt behind one that is %s',
    async (state) => {
      await using rig = await journalRig();
      const { commandId } = await sending(rig.journal);
      const moved = { attempt: '1', attempt_from: "'sending'", attempt_state: `'${state}'`, attempt_id: "'tm-2'" };
      await refused(rig, forbidden, await rowBehind(rig, commandId, moved));
      const none = { attempt: 'null', attempt_from: 'null', attempt_state: 'null', attempt_id: "'tm-2'" };
      await refused(rig, forbidden, await rowBehind(rig, commandId, none));
    },
  );

  it('allows an attempt the transitions of the domain, and no other', async () => {
    await using rig = await journalRig();
    const { commandId } = await sending(rig.journal);
    for (const from of attemptStates)
      for (const to of attemptStates.filter((each) => each !== from)) {
        const moved = { attempt: '1', attempt_from: `'${from}'`, attempt_state: `'${to}'` };
        const kind = to === 'sending' ? "'mark'" : "'step'";
        const done = await allowed(rig, await rowBehind(rig, commandId, { ...moved, kind }));
        expect(done, `${from}>${to}`).toBe(attemptMoves.get(from)?.has(to));
      }
  });

  it('marks an attempt as sending by no step, and by no row of a command that is not open', async () => {
    await using rig = await journalRig();
    const { commandId } = await sending(rig.journal);
    const moved = { attempt: '1', attempt_from: "'prepared'", attempt_state: "'sending'" };
    await refused(rig, forbidden, await rowBehind(rig, commandId, { ...moved, kind: "'step'" }));
    const unknownNow = { ...moved, kind: "'mark'", from_state: "'unknown'", state: "'unknown'" };
    await refused(rig, forbidden, await rowBehind(rig, commandId, unknownNow));
  });

  it('allows a command the transitions of the domain, and no other', async () => {
    await using rig = await journalRig();
    const { commandId } = await unknown(rig.journal);
    const resolved = (state: CommandState) =>
      ['open', 'unknown', 'accepted', 'conflict'].includes(state) ? 'null' : 'now()';
    for (const from of commandStates)
      for (const to of commandStates.filter((each) => each !== from)) {
        const step = { kind: "'step'", from_state: `'${from}'`, state: `'${to}'`, resolved_at: resolved(to) };
        const done = await allowed(rig, await rowBehind(rig, commandId, step));
        expect(done, `${from}>${to}`).toBe(commandMoves.get(from)?.has(to));
      }
  });

  it('resolves what is final and only that, and counts a miss of what is unknown alone', async () => {
    await using rig = await journalRig();
    const { commandId } = await unknown(rig.journal);
    const step = { kind: "'step'", from_state: "'unknown'" };
    const none = { attempt: 'null', attempt_from: 'null', attempt_state: 'null' };
    await refused(
      rig,
      forbidden,
      await rowBehind(rig, commandId, { ...step, ...none, state: "'unknown'", resolved_at: 'now()' }),
    );
    await refused(
      rig,
      forbidden,
      await rowBehind(rig, commandId, { ...step, ...none, state: "'applied'", resolved_at: 'null' }),
    );
    const miss = { kind: "'miss'", from_state: "'accepted'", state: "'accepted'" };
    await refused(rig, forbidden, await rowBehind(rig, commandId, { ...miss, ...none }));
  });

  it('is not believed by a reader where a row does not follow the one before it', async () => {
    await using rig = await journalRig();
    const none = { attempt: 'null', attempt_from: 'null', attempt_state: 'null' };
    for (const change of [
      { from_state: "'accepted'", state: "'applied'", resolved_at: 'now()' },
      { number: 'number + 2' },
      { version: 'version' },
      { attempt: '1', attempt_from: "'unknown'", attempt_state: "'accepted'" },
      { body: "'no json'" },
    ]) {
      const { commandId } = await sending(rig.journal);
      const before = await rig.journal.find(commandId);
      expect(before).toMatchObject({ state: 'open' });
      const row = { kind: "'step'", version: 'version + 1', ...none, ...change };
      await rig.pool.query(await rowBehind(rig, commandId, row));
      await expect(rig.journal.find(commandId), JSON.stringify(change)).rejects.toMatchObject({
        code: 'UNREADABLE_ROW',
      });
    }
  });

  it('changes nothing of a row, but that the key of a final command is given up once', async () => {
    await using rig = await journalRig();
    const open = await sending(rig.journal);
    const { attemptId: _none, ...asked } = newPlace({ refusal: { code: 'NO', message: 'no' } });
    await rig.journal.open(asked, fence);
    for (const change of ["state = 'refused'", "body = '{}'", 'seq = 9', "account_id = 'other'", 'at = now()'])
      await refused(rig, forbidden, `update journal set ${change}`);
    const givenUp = 'update journal set key_held = false';
    await refused(rig, forbidden, `${givenUp} where command_id = $1 and number = 1`, [open.commandId]);
    await refused(rig, forbidden, `${givenUp}, symbol = 'MSFT' where command_id = $1`, [asked.commandId]);
    await rig.pool.query(`${givenUp} where command_id = $1`, [asked.commandId]);
    await refused(rig, forbidden, 'update journal set key_held = true where command_id = $1', [asked.commandId]);
  });

  it('binds an order to an attempt once', async () => {
    await using rig = await journalRig();
    const { commandId } = await unknown(rig.journal);
    await rig.pool.query("insert into order_bindings values ('account', 'o-1', 'tm-1', $1, true)", [commandId]);
    await refused(rig, '23505', "insert into order_bindings values ('account', 'o-1', 'tm-1', $1, true)", [commandId]);
    await refused(rig, forbidden, 'update order_bindings set matches = false');
  });

  it('only ever adds to evidence and to the audit trail, and takes away nothing of the journal', async () => {
    await using rig = await journalRig();
    await unknown(rig.journal);
    await rig.journal.addToAuditTrail([
      { atMs, principal: 'ann', action: 'resolve', detail: { nul: 'a\0b', big: 1n } },
    ]);
    await rig.journal.addEvidence((await rig.journal.unresolved(1))[0]?.commandId ?? '', []);
    for (const table of ['facts', 'audit_log']) {
      await refused(rig, forbidden, `update ${table} set recorded_at = now()`);
      await refused(rig, forbidden, `delete from ${table}`);
      await refused(rig, forbidden, `truncate ${table}`);
    }
    for (const table of ['journal', 'halts', 'order_bindings']) {
      await refused(rig, forbidden, `delete from ${table}`);
      await refused(rig, forbidden, `truncate ${table} cascade`);
    }
    expect(await rig.rows('select principal, action, detail::text from audit_log')).toEqual([
      { principal: 'ann', action: 'resolve', detail: '{"nul":"a\u2400b","big":"1"}' },
    ]);
  });

  it('adds lines of the audit trail again without those that are there', async () => {
    await using rig = await journalRig();
    const halt = { atMs, principal: 'ann', action: 'halt', requestId: 'r-1' };
    const lines = [halt, { ...halt, requestId: 'r-2' }, { ...halt, accountId: 'acct-1' }, { ...halt, atMs: atMs + 1 }];
    await rig.journal.addToAuditTrail(lines.slice(0, 2));
    await rig.journal.addToAuditTrail(lines, true);
    await rig.journal.addToAuditTrail(lines, true);
    expect(await rig.rows('select request_id, account_id from audit_log order by id')).toEqual([
      { request_id: 'r-1', account_id: null },
      { request_id: 'r-2', account_id: null },
      { request_id: 'r-1', account_id: 'acct-1' },
      { request_id: 'r-1', account_id: null },
    ]);
  });

  it('clears a halt once, with a name and a reason', async () => {
    await using rig = await journalRig();
    const scope = { kind: 'account', accountId: 'acct-1' } as const;
    await rig.journal.raiseHalt({ haltId: 'h-1', scope, cause: 'rate', reason: 'fast', by: 'breaker', sinceMs: atMs });
    await refused(
      rig,
      '23505',
      `insert into halts select 'h-2', account_id, cause, reason, raised_by, since from halts`,
    );
    await refused(rig, '23514', 'update halts set cleared_at = now()');
    await refused(rig, '23514', "update halts set cleared_at = now(), cleared_by = 'ann', cleared_reason = ''");
    await refused(rig, forbidden, "update halts set reason = 'other'");
    await rig.journal.clearHalts(scope, { by: 'ann', reason: 'looked', atMs }, fence);
    await refused(rig, forbidden, 'update halts set cleared_at = null, cleared_by = null, cleared_reason = null');
  });

  it('keeps one cancel-all per principal and key, ends it and takes its key away once, and changes nothing else of it', async () => {
    await using rig = await journalRig();
    const cancelAll = newCancelAll({ reason: 'a\0b' });
    await rig.journal.openCancelAll(cancelAll, fence);
    await refused(
      rig,
      '23505',
      `insert into cancel_alls select (jsonb_populate_record(c, jsonb_build_object('cancel_all_id', gen_random_uuid()))).* from cancel_alls c`,
    );
    for (const change of [
      "orders = '[]'",
      "reason = 'other'",
      "key_held = false, request_hash = 'other'",
      'key_held = true',
      'ended_at = null',
    ])
      await refused(rig, forbidden, `update cancel_alls set ${change}`);
    await refused(
      rig,
      '23514',
      'insert into cancel_alls select (jsonb_populate_record(c, \'{"on_landing": "keep"}\')).* from cancel_alls c',
    );
    await rig.pool.query('update cancel_alls set ended_at = now()');
    for (const at of ['null', "now() + interval '1 hour'"])
      await refused(rig, forbidden, `update cancel_alls set ended_at = ${at}`);
    await rig.pool.query('update cancel_alls set key_held = false');
    await refused(rig, forbidden, 'update cancel_alls set key_held = true');
    await refused(rig, forbidden, 'delete from cancel_alls');
    await refused(rig, forbidden, 'truncate cancel_alls');
  });

  it('takes what the platform answered whatever is in it', async () => {
    await using rig = await journalRig();
    const command = await sending(rig.journal);
    const detail = { body: '\0\ud800<html>', 'n\0me': [null, { deep: '\udfff' }], revision: 9_007_199_254_740_993n };
    const evidence = [{ kind: 'answer', code: 'foreign', detail, atMs: atMs + 0.5 }] as const;
    const step = answered(command, 'unknown', { evidence, reason: { code: 'FOREIGN', message: 'a\0\ud800' } });
    expect(await rig.journal.step(step, fence)).toMatchObject({
      kind: 'stepped',
      command: { reason: { code: 'FOREIGN', message: 'a\u2400\ufffd' } },
    });
    expect((await rig.evidenceOf(command.commandId)).at(-1)?.detail).toEqual({
      body: '\u2400\ufffd<html>',
      'n\u2400me': [null, { deep: '\ufffd' }],
      revision: '9007199254740993',
    });
  });
});

type Changes = Readonly<Record<string, string>>;

/** A statement that adds rows like these, with these columns as said. */
async function copying(rig: JournalRig, changed: Changes, where: string): Promise<string> {
  const columns = await rig.rows<{ name: string }>(
    "select attname as name from pg_attribute where attrelid = 'journal'::regclass and attnum > 0 and not attisdropped",
  );
  const names = columns.map(({ name }) => name);
  const seq = { seq: '(select max(seq) + 1 from journal)' };
  return `insert into journal (${names}) select ${names.map((name) => ({ ...seq, ...changed })[name] ?? name)} from journal where ${where}`;
}

/** An opening like the first one. */
function copied(rig: JournalRig, changed: Changes): Promise<string> {
  return copying(rig, changed, 'number = 1 order by seq limit 1');
}

const openingColumns = [
  ...['principal', 'idempotency_key', 'key_held', 'request_kind', 'stream', 'account_id', 'symbol', 'side'],
  ...['caller_ref', 'supersedes', 'exposure', 'limits_change', 'token_number', 'attempt_id'],
];

/** A row behind the newest one of this command, which stays as it is. */
function rowBehind(rig: JournalRig, commandId: string, changed: Changes): Promise<string> {
  const none = Object.fromEntries(openingColumns.map((name) => [name, 'null']));
  const next = { number: 'number + 1', kind: "'step'", from_state: 'state' };
  return copying(rig, { ...none, ...next, ...changed }, `command_id = '${commandId}' order by number desc limit 1`);
}

/** Done and taken back. */
async function allowed(rig: JournalRig, text: string): Promise<boolean> {
  const client = await rig.pool.connect();
  try {
    await client.query('begin');
    return await client.query(text).then(() => true, refusal);
  } finally {
    await client.query('rollback');
    client.release();
  }
}

function refusal(error: { code?: string }): false {
  expect(error.code).toEqual(forbidden);
  return false;
}
