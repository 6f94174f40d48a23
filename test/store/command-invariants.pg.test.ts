import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { attemptStates, type CommandState, commandStates } from '../../src/domain/command.ts';
import {
  answered,
  atMs,
  attemptId,
  fence,
  newCancelAll,
  newPlace,
  newReplace,
  sending,
  unknown,
} from '../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig } from '../support/commands/journal-rig.ts';
import { attemptMoves, commandMoves } from '../support/commands/journal-rules.ts';

const forbidden = 'TM010';

/** A statement of the database's owner, to whom nothing is forbidden by privilege. */
function refused(rig: JournalRig, code: string, text: string, values: unknown[] = []): Promise<void> {
  return expect(rig.pool.query(text, values), text).rejects.toMatchObject({ code });
}

describe('the database, asked by its owner in plain SQL,', () => {
  it('keeps one command per principal and key', async () => {
    await using rig = await journalRig();
    const command = await unknown(rig.journal);
    await refused(
      rig,
      '23505',
      `${await copied(rig, { command_id: 'gen_random_uuid()', state: "'open'", version: '1' })} where command_id = $1`,
      [command.commandId],
    );
  });

  it('numbers attempts without a hole, and lets none begin but prepared, or the first as sending', async () => {
    await using rig = await journalRig();
    const { attemptId: _none, ...without } = newPlace({ refusal: { code: 'NO', message: 'no' } });
    await rig.journal.open(without, fence);
    const insert = `insert into attempts (attempt_id, command_id, number, state, epoch, prepared_at, sending_at) values ($1, $2, $3, $4, 1, now(), $5)`;
    const first = (state: string, at: Date | null) =>
      refused(rig, forbidden, insert, [attemptId(), without.commandId, 1, state, at]);
    await first('sending', null);
    await first('prepared', new Date(atMs));
    for (const state of ['unknown', 'accepted', 'not_sent']) await first(state, null);
    const { commandId } = await sending(rig.journal);
    await refused(rig, forbidden, insert, [attemptId(), commandId, 3, 'prepared', null]);
    await refused(rig, forbidden, insert, [attemptId(), commandId, 1, 'prepared', null]);
    await refused(rig, forbidden, insert, [attemptId(), commandId, 2, 'sending', new Date(atMs)]);
    await refused(rig, '23514', insert, [`x-${randomUUID()}`, commandId, 2, 'prepared', null]);
  });

  it.each(['sending', 'unknown', 'accepted', 'rejected'] as const)(
    'prepares no attempt behind one that is %s',
    async (state) => {
      await using rig = await journalRig();
      const command = await sending(rig.journal);
      if (state !== 'sending') await rig.pool.query('update attempts set state = $1', [state]);
      await refused(
        rig,
        '23505',
        `insert into attempts (attempt_id, command_id, number, state, epoch, prepared_at) values ($1, $2, 2, 'prepared', 1, now())`,
        [attemptId(), command.commandId],
      );
    },
  );

  it('lets an attempt go from prepared to sending once, and says when once', async () => {
    await using rig = await journalRig();
    await sending(rig.journal);
    await refused(rig, forbidden, "update attempts set state = 'sending', sending_at = now()");
    await refused(rig, forbidden, "update attempts set state = 'sending'");
    await refused(rig, forbidden, "update attempts set state = 'prepared', sending_at = null");
    await refused(rig, forbidden, "update attempts set state = 'unknown', sending_at = now()");
    await refused(rig, forbidden, "update attempts set state = 'unknown', epoch = 9");
    await rig.pool.query("update attempts set state = 'unknown'");
    await refused(rig, forbidden, "update attempts set state = 'sending', sending_at = now()");
  });

  it('allows an attempt the transitions of the domain, and no other', async () => {
    await using rig = await journalRig();
    const { attempts } = await sending(rig.journal);
    for (const from of attemptStates) {
      for (const to of attemptStates.filter((each) => each !== from)) {
        await forceState(rig, 'attempts', from);
        const move = `update attempts set state = '${to}'${to === 'sending' ? ', sending_at = now()' : ''} where attempt_id = $1`;
        const done = rig.pool.query(move, [attempts[0]?.attemptId]).then(() => true, refusal);
        expect(await done, `${from}>${to}`).toBe(attemptMoves.get(from)?.has(to));
      }
    }
  });

  it('allows a command the transitions of the domain, and no other', async () => {
    await using rig = await journalRig();
    const { commandId } = await unknown(rig.journal);
    const resolved = (state: CommandState) =>
      ['open', 'unknown', 'accepted', 'conflict'].includes(state) ? 'null' : 'now()';
    for (const from of commandStates) {
      for (const to of commandStates.filter((each) => each !== from)) {
        await forceState(rig, 'commands', from, resolved(from));
        const step = `update commands set state = '${to}', version = version + 1, resolved_at = ${resolved(to)} where command_id = $1`;
        const done = rig.pool.query(step, [commandId]).then(() => true, refusal);
        expect(await done, `${from}>${to}`).toBe(commandMoves.get(from)?.has(to));
      }
    }
  });

  it('moves a version by one, and changes nothing of what was asked for', async () => {
    await using rig = await journalRig();
    const opened = await rig.journal.open(newReplace('p-1'), fence);
    expect(opened.kind).toBe('opened');
    await refused(rig, forbidden, 'update commands set version = version + 2');
    await refused(rig, forbidden, 'update commands set misses = 1');
    for (const change of [
      "principal = 'other'",
      "idempotency_key = 'other'",
      "request_hash = 'other'",
      "account_id = 'other'",
      "request = '{}'",
      'baseline = null',
      "caller_ref = 'other'",
      "deadline_at = now() + interval '1 hour'",
      "order_id = 'p-2'",
      'key_held = false',
    ]) {
      await refused(rig, forbidden, `update commands set version = version + 1, ${change}`);
    }
  });

  it('resolves what is final and only that, and presumes only what is unknown absent', async () => {
    await using rig = await journalRig();
    await unknown(rig.journal);
    const step = 'update commands set version = version + 1,';
    await refused(rig, '23514', `${step} resolved_at = now()`);
    await refused(rig, '23514', `${step} state = 'applied'`);
    await refused(rig, '23514', `${step} state = 'accepted', presumed_absent = true`);
  });

  it('binds an order to an attempt once', async () => {
    await using rig = await journalRig();
    const { commandId } = await unknown(rig.journal);
    await rig.pool.query("insert into order_bindings values ('account', 'o-1', 'tm-1', $1, true)", [commandId]);
    await refused(rig, '23505', "insert into order_bindings values ('account', 'o-1', 'tm-1', $1, true)", [commandId]);
    await refused(rig, forbidden, 'update order_bindings set matches = false');
  });

  it('supersedes a command once, but for those that came to nothing, and one of them may still turn out to have landed', async () => {
    await using rig = await journalRig();
    const first = await unknown(rig.journal, newPlace(), { presumedAbsent: true });
    await rig.journal.open(newPlace({ supersedes: first.commandId }), fence);
    const changed = { command_id: 'gen_random_uuid()', idempotency_key: "'k'", state: "'open'", version: '1' };
    const insert = `${await copied(rig, { ...changed, resolved_at: 'null' })} where supersedes is not null`;
    await refused(rig, forbidden, insert);
    await rig.pool.query(
      "update commands set version = 2, state = 'not_sent', resolved_at = now() where supersedes is not null",
    );
    await rig.pool.query(insert);
    await rig.pool.query("update commands set version = 3, state = 'applied' where state = 'not_sent'");
  });

  it('only ever adds to evidence and to the audit trail, and takes away nothing of the journal', async () => {
    await using rig = await journalRig();
    await unknown(rig.journal);
    await rig.journal.addToAuditTrail([
      { atMs, principal: 'ann', action: 'resolve', detail: { nul: 'a\0b', big: 1n } },
    ]);
    for (const table of ['evidence', 'audit_log']) {
      await refused(rig, forbidden, `update ${table} set recorded_at = now()`);
      await refused(rig, forbidden, `delete from ${table}`);
      await refused(rig, forbidden, `truncate ${table}`);
    }
    for (const table of ['commands', 'attempts', 'halts', 'order_bindings']) {
      await refused(rig, forbidden, `delete from ${table}`);
      await refused(rig, forbidden, `truncate ${table} cascade`);
    }
    await refused(rig, forbidden, 'delete from command_events');
    await refused(rig, forbidden, "update command_events set state = 'applied'");
    await refused(rig, forbidden, 'truncate command_events');
    await refused(rig, forbidden, 'update command_outbox set shard = 1');
    await refused(rig, forbidden, 'truncate command_outbox');
    const columns = 'command_id, misses, presumed_absent, updated_at, state, attempts, version';
    await refused(rig, '23505', `insert into command_events (${columns}) select ${columns} from command_events`);
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
    expect((await rig.journal.evidenceOf(command.commandId)).at(-1)?.detail).toEqual({
      body: '\u2400\ufffd<html>',
      'n\u2400me': [null, { deep: '\ufffd' }],
      revision: '9007199254740993',
    });
  });
});

/** A statement that adds commands like those that are there, with these columns as said. */
async function copied(rig: JournalRig, changed: Readonly<Record<string, string>>): Promise<string> {
  const columns = await rig.rows<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = 'commands'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
  );
  const names = columns.map(({ name }) => name);
  return `insert into commands (${names}) select ${names.map((name) => changed[name] ?? name)} from commands`;
}

/** Any state, past the guards: only a superuser may, and only to prepare a test. */
async function forceState(
  rig: JournalRig,
  table: 'attempts' | 'commands',
  state: string,
  resolvedAt?: string,
): Promise<void> {
  const resolve = resolvedAt === undefined ? '' : `, resolved_at = ${resolvedAt}`;
  await rig.pool.query(
    `begin; set local session_replication_role = replica; update ${table} set state = '${state}'${resolve}; commit`,
  );
}

function refusal(error: { code?: string }): false {
  expect(error.code).toBe(forbidden);
  return false;
}
