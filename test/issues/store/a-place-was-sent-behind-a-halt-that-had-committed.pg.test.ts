// What a user saw: A place was sent to the venue after a halt had been stored.

import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import type { OpenResult } from '../../../src/store/commands/command-journal.ts';
import { PostgresPrincipalStore } from '../../../src/store/principals.ts';
import { atMs, fence, halt, newCancel, newPlace } from '../../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig } from '../../support/commands/journal-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

const tightened = { accountId: 'acct-1', by: 'ann', reason: 'too much', requestId: 'r-1', atMs };

/** A session waits for the lock between marks and what forbids them. */
function waiting(rig: JournalRig): Promise<void> {
  return eventually(async () => {
    const rows = await rig.rows(
      "select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'",
    );
    if (rows.length === 0) throw new Error('no session waits for the lock');
  });
}

const measure = {
  symbols: ['AAPL'],
  underlyings: ['AAPL'],
  instrument: 'equity',
  quantity: '1',
  exposure: '10',
  valuedByQuote: false,
} as const;

async function opened(rig: JournalRig, over = {}): Promise<string> {
  const asked = newPlace({ measure, ...over });
  expect(await rig.journal.open(asked, fence)).toMatchObject({ kind: 'opened' });
  return asked.attemptId ?? '';
}

describe('a place that is journaled already', () => {
  it('waits for a halt that is being written, and is not marked as being sent behind it', async () => {
    await using rig = await journalRig();
    const attemptId = await opened(rig);
    const other = await rig.rival();
    await other.query('begin');
    await other.query("select raise_halt('h-1', null, 'operator', 'kill switch', 'ann', $1)", [atMs]);
    const marking = rig.journal.markSending(attemptId, atMs, fence);
    await waiting(rig);
    await other.query('commit');
    expect(await marking).toEqual({ code: 'PLACING_HALTED', message: 'placing was halted (operator): kill switch' });
  });

  it('that is being marked keeps a halt, new limits and the end of its token waiting until that is committed', async () => {
    await using rig = await journalRig();
    await rig.rows(
      "insert into principal_tokens (principal, number, token_sha256, scopes) values ('desk', 1, sha256('t'), '{orders:write}')",
    );
    const tokens = new PostgresPrincipalStore({ pool: rig.pool, clock: systemClock, random: systemRandom });
    const stops: (() => Promise<unknown>)[] = [
      () => rig.journal.raiseHalt(halt()),
      () => rig.journal.changeLimits({ ...tightened, before: {}, bounds: { maxQuantity: '1' } }),
      () => tokens.end('desk', 1, 0),
    ];
    for (const stop of stops) {
      await rig.rows(
        "update halts set cleared_at = now(), cleared_by = 'ann', cleared_reason = 'again' where cleared_at is null",
      );
      const attemptId = await opened(rig, { tokenNumber: 1 });
      const other = await rig.rival();
      await other.query('begin');
      await other.query('select mark_sending(0, 1, $1, $2)', [attemptId, atMs]);
      const order: string[] = [];
      const stopping = stop().then(() => order.push('stopped'));
      await waiting(rig);
      order.push('marked');
      await other.query('commit');
      await stopping;
      expect(order).toEqual(['marked', 'stopped']);
    }
  });

  it('is not sent once the token that asked for it has ended', async () => {
    await using rig = await journalRig();
    await rig.rows(
      "insert into principal_tokens (principal, number, token_sha256, scopes) values ('desk', 1, sha256('t'), '{orders:write}'), ('desk', 2, sha256('u'), '{orders:write}')",
    );
    const tokens = new PostgresPrincipalStore({ pool: rig.pool, clock: systemClock, random: systemRandom });
    const [revoked, other] = [await opened(rig, { tokenNumber: 1 }), await opened(rig, { tokenNumber: 2 })];
    expect(await tokens.end('desk', 1, 0)).toEqual([1]);
    expect(await rig.journal.markSending(revoked, atMs, fence)).toMatchObject({ code: 'TOKEN_ENDED' });
    expect(await rig.journal.markSending(other, atMs, fence)).toBe(true);
  });

  it('is sent where the token has ended, if it is a cancel', async () => {
    await using rig = await journalRig();
    const cancel = newCancel('p-1', { tokenNumber: 7 });
    await rig.journal.open(cancel, fence);
    await rig.journal.raiseHalt(halt({ scope: { kind: 'service' } }));
    expect(await rig.journal.markSending(cancel.attemptId ?? '', atMs, fence)).toBe(true);
  });
});

describe('a place that is opened as being sent', () => {
  const asked = (over = {}) => newPlace({ measure, sendingAtMs: atMs, ...over });
  const firstOf = (result: OpenResult) => (result.kind === 'opened' ? result.command.attempts[0]?.state : result.kind);

  it('is opened as prepared beside a halt that is being written, and is not marked behind it', async () => {
    await using rig = await journalRig();
    const other = await rig.rival();
    await other.query('begin');
    await other.query("select raise_halt('h-1', null, 'operator', 'kill switch', 'ann', $1)", [atMs]);
    const place = asked();
    expect(firstOf(await rig.journal.open(place, fence))).toBe('prepared');
    const marking = rig.journal.markSending(place.attemptId ?? '', atMs, fence);
    await waiting(rig);
    await other.query('commit');
    expect(await marking).toMatchObject({ code: 'PLACING_HALTED' });
  });

  it('is marked behind a halt of another account that was being written', async () => {
    await using rig = await journalRig();
    const other = await rig.rival();
    await other.query('begin');
    await other.query("select raise_halt('h-1', 'acct-9', 'operator', 'kill switch', 'ann', $1)", [atMs]);
    const place = asked();
    expect(firstOf(await rig.journal.open(place, fence))).toBe('prepared');
    expect(firstOf(await rig.journal.open(newCancel('p-1', { sendingAtMs: atMs }), fence)), 'a cancel').toBe('sending');
    const marking = rig.journal.markSending(place.attemptId ?? '', atMs, fence);
    await waiting(rig);
    await other.query('commit');
    expect(await marking).toBe(true);
  });

  it('keeps a halt, new limits and the end of its token waiting until it is committed', async () => {
    await using rig = await journalRig();
    await rig.rows(
      "insert into principal_tokens (principal, number, token_sha256, scopes) values ('desk', 1, sha256('t'), '{orders:write}')",
    );
    const tokens = new PostgresPrincipalStore({ pool: rig.pool, clock: systemClock, random: systemRandom });
    const stops: (() => Promise<unknown>)[] = [
      () => rig.journal.raiseHalt(halt({ scope: { kind: 'account', accountId: 'acct-9' } })),
      () => rig.journal.changeLimits({ ...tightened, before: {}, bounds: { ordersPerMinute: 1_000 } }),
      () => tokens.end('desk', 1, 0),
    ];
    for (const stop of stops) {
      const other = await rig.rival();
      await other.query('begin');
      const { rows } = await other.query('select open_command(0, 1, $1) as opened', [asked({ tokenNumber: 1 })]);
      expect(rows[0]?.opened.command.attempts[0].state).toBe('sending');
      const order: string[] = [];
      const stopping = stop().then(() => order.push('stopped'));
      await waiting(rig);
      order.push('opened');
      await other.query('commit');
      await stopping;
      expect(order).toEqual(['opened', 'stopped']);
    }
    expect(firstOf(await rig.journal.open(asked({ tokenNumber: 1 }), fence)), 'its token has ended').toBe('prepared');
  });

  it('holds up no halt while it waits for another command of its key', async () => {
    await using rig = await journalRig();
    const other = await rig.rival();
    await other.query('begin');
    const first = newPlace();
    await other.query('select open_command(0, 1, $1)', [first]);
    const opening = rig.journal.open(asked({ idempotencyKey: first.idempotencyKey }), fence);
    await eventually(async () => {
      const rows = await rig.rows(
        "select from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'",
      );
      if (rows.length === 0) throw new Error('no session waits for the key');
    });
    expect(await rig.journal.raiseHalt(halt())).toMatchObject({ cause: 'operator' });
    await other.query('commit');
    expect(await opening).toMatchObject({ kind: 'replayed' });
  });
});
