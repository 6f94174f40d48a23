import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock as clock, systemClock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { systemRandom as random, systemRandom } from '../../../src/runtime/random.ts';
import { Halts } from '../../../src/service/commands/halts.ts';
import { decodeCheckpoint, encodeCheckpoint } from '../../../src/service/log/checkpoint-writer.ts';
import { StaticTokens } from '../../../src/service/rest/auth/static-tokens.ts';
import { storeParts } from '../../../src/service/run/store-parts.ts';
import type { NewCommand, OpenResult } from '../../../src/store/commands/command-journal.ts';
import { openingRow } from '../../../src/store/commands/journal-rows.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import { PostgresLaneStore } from '../../../src/store/fleet/lane-store.ts';
import { PostgresPrincipalStore } from '../../../src/store/principals.ts';
import { appendIn, markIn, openIn, withoutLockTimeout } from '../../support/commands/append-in.ts';
import {
  accountScope,
  atMs,
  fence,
  halt,
  newCancel,
  newPlace,
  sending,
  service,
} from '../../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig, takeShard } from '../../support/commands/journal-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog as log } from '../../support/runs/silent-log.ts';

const measure = { symbols: ['AAPL'], underlyings: ['AAPL'], instrument: 'equity', exposure: '0', valuedByQuote: false };

/** Held to a limit that counts, so its opening takes the lock of its account. */
function placeOf(accountId: string, over: Partial<NewCommand> = {}): NewCommand {
  const place = newPlace({ measure, ...over } as Partial<NewCommand>);
  return { ...place, request: { ...place.request, accountId } };
}

const sendingOf = (accountId: string) => placeOf(accountId, { sendingAtMs: atMs });

async function countingRig(): Promise<JournalRig> {
  const rig = await journalRig();
  const [before, bounds, by, reason] = [{}, { maxOpenOrders: 1_000 }, 'ann', 'r'] as const;
  await rig.journal.changeLimits({ before, bounds, by, reason, requestId: 'r-1', atMs });
  return rig;
}

/** So many sessions wait for a lock of this kind. */
function waiting(rig: JournalRig, sessions: number, kind = 'advisory'): Promise<void> {
  return eventually(async () => {
    const rows = await rig.rows(
      `select from pg_stat_activity where datname = current_database() and wait_event = '${kind}'`,
    );
    expect(rows).toHaveLength(sessions);
  });
}

/**
 * The first sends for one account and then wants another, which the second has. A halt waits for
 * the first. What the second answers to an opening as sending and to a mark, and then the first.
 */
async function aroundHalt(rig: JournalRig) {
  const [first, second] = [await rig.rival(), await rig.rival()];
  await withoutLockTimeout(first);
  for (const group of [first, second]) await group.query('begin');
  const prepared = placeOf('acct-2');
  const before = [await openIn(first, sendingOf('acct-1')), await openIn(second, prepared)];
  expect(before).toEqual(['done', 'done']);
  const halting = rig.journal.raiseHalt(halt({ scope: { kind: 'service' } }));
  await waiting(rig, 1);
  const wanting = openIn(first, sendingOf('acct-2'));
  await waiting(rig, 2);

  const opened = await openIn(second, sendingOf('acct-2'));
  const { said: marked } = await markIn(second, prepared.commandId, atMs);
  await second.query('commit');
  const answered = [opened, marked, await wanting];
  expect(await rig.journal.activeHalts()).toEqual([]);
  await first.query('commit');
  expect(await halting).toMatchObject({ cause: 'operator' });
  return { answered, prepared };
}

describe('two groups, and a halt that waits for one of them', () => {
  it('wait for each other in no circle, and the halt waits for nothing but what is being sent', async () => {
    await using rig = await countingRig();
    const { answered, prepared } = await aroundHalt(rig);
    // A mark for which the halt would be waited for is refused, and asked for alone.
    expect(answered).toEqual(['held', 'alone', 'done']);
    const marked = await rig.journal.markSending(prepared.attemptId ?? '', atMs, fence);
    expect(marked).toMatchObject({ code: 'PLACING_HALTED' });
  });

  it('would wait in a circle if the second waited for the halt, until the server looks for circles', async () => {
    await using rig = await countingRig();
    await rig.pool.query(`create or replace function try_sending() returns boolean language plpgsql as $$ begin
      perform pg_advisory_xact_lock_shared(hashtext('tidemark sending'), 0); return true; end $$`);
    // The server then lets it pass the halt, which waits in the same line, and ends none of them.
    expect((await aroundHalt(rig)).answered).toEqual(['done', 'done', 'done']);
  });

  it('a bad write of a group gives back no lock of a good one: a halt waits for what the group sends', async () => {
    await using rig = await countingRig();
    const group = await rig.rival();
    await group.query('begin');
    const good = sendingOf('acct-1');
    // Its key is known: it is not written, and the others of its statement are.
    const again = sendingOf('acct-3');
    await rig.journal.open(placeOf('acct-3', { idempotencyKey: again.idempotencyKey }), fence);
    const rows = [good, again, sendingOf('acct-2')].map((asked) => openingRow(asked, fence, atMs));
    const answers = (await appendIn(group, rows)).map(({ said }) => said);
    expect(answers).toEqual(['done', 'replayed', 'done']);
    const halting = rig.journal.raiseHalt(halt({ scope: { kind: 'service' } }));
    await waiting(rig, 1);
    expect(await rig.journal.activeHalts()).toEqual([]);
    await group.query('commit');
    expect(await halting).toMatchObject({ cause: 'operator' });
    const late = sendingOf('acct-1');
    expect(await openIn(group, late)).toBe('held');
    await rig.journal.open(late, fence);
    expect(await rig.journal.markSending(late.attemptId ?? '', atMs, fence)).toMatchObject({ code: 'PLACING_HALTED' });
  });

  it('a group that is rolled back whole has sent nothing, and a halt is not held up by it', async () => {
    await using rig = await countingRig();
    const group = await rig.rival();
    await group.query('begin');
    const lost = sendingOf('acct-1');
    expect(await openIn(group, lost)).toBe('done');
    const halting = rig.journal.raiseHalt(halt({ scope: { kind: 'service' } }));
    await waiting(rig, 1);
    await group.query('rollback');
    expect(await halting).toMatchObject({ cause: 'operator' });
    // The same write asked for alone, as a group's does: the halt is committed by now.
    const again = await rig.journal.open(lost, fence);
    expect(again).toMatchObject({ kind: 'opened', command: { attempts: [{ state: 'prepared' }] } });
  });

  it('answer each write as it is stored, in two processes, while limits of others change', async () => {
    await using rig = await countingRig();
    const other = { shard: 1, epoch: 1n };
    await rig.journal.takeOver(other, atMs, 0);
    const second = createPostgresJournal({ pool: rig.pool, clock: systemClock, random: systemRandom });
    const accounts = Array.from({ length: 24 }, (_, i) => `acct-${i % 3}`);
    const opening = [
      ...accounts.map((account) => rig.journal.open(sendingOf(account), fence)),
      ...accounts.toReversed().map((account) => second.open(sendingOf(account), other)),
    ];
    const changes = Array.from({ length: 8 }, (_, i) =>
      rig.journal.changeLimits({
        ...{ accountId: `other-${i}`, before: {}, bounds: { maxQuantity: '1' }, by: 'ann', reason: 'r' },
        ...{ requestId: `r-${i}`, atMs },
      }),
    );
    const sent = await Promise.all(opening.map(async (each, i) => sendIt(await each, i < accounts.length)));
    expect(new Set(sent)).toEqual(new Set([true]));
    expect(await Promise.all(changes)).not.toContain(undefined);
    expect(await rig.rows('select state, count(*)::int as n from attempts group by state')).toEqual([
      { state: 'sending', n: 48 },
    ]);

    function sendIt(result: OpenResult, isFirst: boolean): Promise<unknown> | unknown {
      if (result.kind !== 'opened') return result.kind;
      const [attempt] = result.command.attempts;
      if (attempt?.state === 'sending') return true;
      const [journal, under] = isFirst ? [rig.journal, fence] : [second, other];
      return journal.markSending(attempt?.attemptId ?? '', atMs, under);
    }
  });
});

describe('issue: A place was sent to the venue after a halt had been stored.', () => {
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
    return (await openedPlace(rig, over)).attemptId ?? '';
  }

  async function openedPlace(rig: JournalRig, over = {}): Promise<NewCommand> {
    const asked = newPlace({ measure, ...over });
    expect(await rig.journal.open(asked, fence)).toMatchObject({ kind: 'opened' });
    return asked;
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
        const { commandId } = await openedPlace(rig, { tokenNumber: 1 });
        const other = await rig.rival();
        await other.query('begin');
        expect(await markIn(other, commandId, atMs)).toMatchObject({ said: 'done' });
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
    const firstOf = (result: OpenResult) =>
      result.kind === 'opened' ? result.command.attempts[0]?.state : result.kind;

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
      expect(firstOf(await rig.journal.open(newCancel('p-1', { sendingAtMs: atMs }), fence)), 'a cancel').toBe(
        'sending',
      );
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
        expect(await openIn(other, asked({ tokenNumber: 1 }))).toBe('done');
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
      await openIn(other, first);
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
});

describe('issue: A halt waited for a session at one token, while all tokens of its principal were ended.', () => {
  it('all tokens of a principal are ended once each is free, and nothing waits for that', async () => {
    await using rig = await countingRig();
    await rig.pool.query(
      "insert into principal_tokens (principal, number, token_sha256, scopes) values ('desk', 1, sha256('t'), '{orders:write}'), ('desk', 2, sha256('u'), '{orders:write}')",
    );
    const tokens = new PostgresPrincipalStore({ pool: rig.pool, clock: systemClock, random: systemRandom });
    const other = await rig.rival();
    await other.query('begin');
    await other.query("select from principal_tokens where principal = 'desk' and number = 2 for update");
    const ending = tokens.end('desk', undefined, 0);
    await waiting(rig, 1, 'transactionid');
    expect(await rig.journal.raiseHalt(halt({ scope: { kind: 'service' } }))).toMatchObject({ cause: 'operator' });
    await other.query('rollback');
    expect(await ending).toEqual([1, 2]);
  });
});

describe('issue: The database had lost a halt; it came back, and no alert said that commits were lost.', () => {
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  type Rig = Awaited<ReturnType<typeof journalRig>>;

  /** A process on lane 0, which no renewal of it helps to notice anything. */
  async function process(rig: Rig) {
    const lease = new Lease(clock, 3_000);
    const [row] = await rig.rows<{ epoch: string }>('select epoch from lanes where lane = 0');
    lease.checkpoint.sawLane({ generation: 1, epoch: BigInt(row?.epoch ?? 0), batch: 0n });
    const noticed: number[] = [];
    const parts = storeParts(
      { clock, random, log, lease, onLoss: ({ generation }) => noticed.push(generation) },
      { url: rig.database.url, poolSize: 1 },
    );
    ends.push(() => parts.close());
    const { journal, lanes, noticeLost, principals } = parts;
    const halts = new Halts({ journal, clock, random, log, metrics: createMetrics().commands, noticeLost });
    return { halts, noticed, principals, journal, lanes, lease };
  }

  async function begin() {
    const rig = await journalRig();
    ends.push(async () => rig[Symbol.asyncDispose]());
    return {
      rig,
      loses: (what: string) =>
        rig.rows(`set session_replication_role = replica; ${what}; reset session_replication_role`),
      generation: async () => (await rig.rows<{ g: number }>('select max(generation) as g from lanes'))[0]?.g,
    };
  }

  const word = { by: 'ann', reason: 'kill switch' };

  describe('a stop that the database has lost', () => {
    it('as a halt begins a generation when it is put back, whichever process is the first to do so', async () => {
      const { rig, loses, generation } = await begin();
      const [raising, reading] = [await process(rig), await process(rig)];
      const kept = await raising.halts.raise(service, 'operator', word);
      await reading.halts.refresh();
      await loses('delete from halts');
      for (const { halts } of [reading, raising]) {
        await halts.refresh();
        await halts.keepDurable();
      }
      expect(await generation()).toBe(2);
      expect([reading.noticed, raising.noticed], 'it is reported once').toEqual([[2], []]);
      expect(await raising.journal.activeHalts()).toEqual([
        kept,
        expect.objectContaining({ cause: 'commits_lost', scope: service }),
      ]);
    });

    it('as a halt does so too where a person asks for it again', async () => {
      const { rig, loses, generation } = await begin();
      const { halts, noticed } = await process(rig);
      await halts.raise(service, 'operator', word);
      await loses('delete from halts');
      await halts.refresh();
      await halts.raise(service, 'operator', word);
      expect([await generation(), noticed]).toEqual([2, [2]]);
    });

    it('as a halt holds, and is put back later, while it can not be asked what else is lost', async () => {
      const { rig, loses, generation } = await begin();
      const { halts, journal } = await process(rig);
      const kept = await halts.raise(service, 'operator', word);
      await loses('delete from halts');
      await halts.refresh();
      await rig.rows('revoke execute on function notice_loss from public; alter function notice_loss rename to away');
      await expect(halts.keepDurable()).rejects.toThrow(/notice_loss/);
      expect([halts.blocking('acct-1'), await journal.activeHalts()]).toEqual([kept, []]);
      await rig.rows('alter function away rename to notice_loss');
      await halts.keepDurable();
      expect([(await journal.activeHalts())[0], await generation()]).toEqual([kept, 2]);
    });

    it('as the end of a token begins a generation when the token is ended again', async () => {
      const { rig, loses, generation } = await begin();
      const { principals: store, noticed } = await process(rig);
      await rig.rows(
        "insert into principal_tokens (principal, number, token_sha256, scopes) values ('desk', 1, sha256('t'), '{}')",
      );
      const tokens = new StaticTokens({ clock, log, store }, { configured: [], refreshEveryMs: 3_600_000 });
      ends.push(async () => tokens.stop());
      await tokens.start();
      await store.end('desk', 1, 0);
      await tokens.start();
      await loses('update principal_tokens set expires_at = null');
      await tokens.start();
      await expect.poll(() => store.active()).toEqual([]);
      expect([await generation(), noticed]).toEqual([2, [2]]);
    });
  });

  it('an attempt that was sent, and that a takeover found unsent, is a loss', async () => {
    const { rig, loses } = await begin();
    const { journal, lanes, lease } = await process(rig);
    const command = await sending(journal, newPlace());
    await loses('delete from journal where number = 2');
    const next = { ...fence, epoch: fence.epoch + 1n };
    await takeShard(rig.pool, next);
    const [swept] = await journal.takeOver(next, clock.nowMs(), 60_000);
    expect(swept).toMatchObject({ commandId: command.commandId, state: 'not_sent' });
    const [row] = await rig.rows<{ epoch: string }>('select epoch from lanes where lane = 0');
    expect(await lanes.renew(0, BigInt(row?.epoch ?? 0), lease.checkpoint.newest)).toBe('forgotten');
  });
});

describe('issue: Halts, limits and ended tokens were lost with a database restore, without any warning.', () => {
  /** A process with a memory of what it has seen, and all that a restore can do to its database. */
  async function processRig() {
    const rig = await journalRig();
    const lease = new Lease(clock, 3_000);
    const journal = createPostgresJournal({ pool: rig.pool, clock, random, checkpoint: lease.checkpoint });
    const lanes = new PostgresLaneStore({ pool: rig.pool, random });
    const [row] = await rig.rows<{ epoch: string; generation: number }>(
      'select epoch, generation from lanes where lane = 0',
    );
    lease.checkpoint.sawLane({ generation: row?.generation ?? 1, epoch: BigInt(row?.epoch ?? 0), batch: 0n });
    return {
      ...{ rig, journal, lanes, lease },
      renew: async () => lanes.renew(0, await epochOf(), lease.checkpoint.newest),
      /** Another process, with nothing but Kafka's checkpoint of this one. */
      looksByKafka: () => {
        const { newest } = lease.checkpoint;
        const checkpoint = newest && decodeCheckpoint(encodeCheckpoint({ lane: 0, ...newest }));
        return lanes.noticeLoss(7, checkpoint === undefined ? [] : [checkpoint]);
      },
      /** As a restore does: without asking any trigger. */
      loses: (statement: string) =>
        rig.rows(`set session_replication_role = replica; ${statement}; reset session_replication_role`),
      [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
    };

    async function epochOf(): Promise<bigint> {
      const [now] = await rig.rows<{ epoch: string }>('select epoch from lanes where lane = 0');
      return BigInt(now?.epoch ?? 0);
    }
  }

  type ProcessRig = Awaited<ReturnType<typeof processRig>>;

  const timers = (afterMs: number, ...accountIds: string[]) => ({
    ...{ principal: 'desk', afterMs },
    timers: accountIds.map((accountId) => ({ accountId, timerId: randomUUID() })),
  });
  const looked = { by: 'ann', reason: 'looked', atMs };
  const tightened = { accountId: 'acct-1', by: 'ann', reason: 'too much', requestId: 'r-1', atMs, before: {} };

  async function seenRevoked({ rig, lease }: ProcessRig): Promise<void> {
    const store = new PostgresPrincipalStore({ pool: rig.pool, clock, random, checkpoint: lease.checkpoint });
    await rig.rows(
      "insert into principal_tokens (principal, number, token_sha256, scopes) values ('desk', 1, sha256('t'), '{}')",
    );
    await watching(store, async (look) => {
      await look();
      await store.end('desk', 1, 0);
      await look();
    });
  }

  /** With the tokens of a process that reads them when it is told to. */
  async function watching(
    store: PostgresPrincipalStore,
    work: (look: () => Promise<void>, tokens: StaticTokens) => Promise<void>,
  ): Promise<void> {
    const tokens = new StaticTokens({ clock, log, store }, { configured: [], refreshEveryMs: 3_600_000 });
    // A look ends behind the timer of the next one, which is nobody's here.
    await work(() => tokens.start(), tokens).finally(() => tokens.stop());
  }

  const kinds: Record<string, { readonly action: (of: ProcessRig) => Promise<unknown>; readonly loss: string }> = {
    'a halt': {
      action: ({ journal }) => journal.raiseHalt(halt()),
      loss: 'delete from halts',
    },
    'a resume': {
      action: async ({ journal }) => {
        await journal.raiseHalt(halt());
        await journal.clearHalts(halt().scope, looked, fence);
      },
      loss: 'update halts set cleared_at = null, cleared_by = null, cleared_reason = null',
    },
    'a lowered limit': {
      action: ({ journal }) => journal.changeLimits({ ...tightened, bounds: { maxQuantity: '1' } }),
      loss: 'delete from limits; delete from audit_log',
    },
    'a limit whose line in the audit trail is another one now': {
      action: ({ journal }) => journal.changeLimits({ ...tightened, bounds: { maxQuantity: '1' } }),
      loss: "delete from limits; update audit_log set at = at + interval '1 second'",
    },
    'a cancel-all': {
      action: ({ journal }) =>
        journal.openCancelAll(
          {
            ...{
              cancelAllId: randomUUID(),
              principal: 'desk',
              idempotencyKey: 'k',
              requestHash: 'h',
              reason: 'out',
              onLanding: 'cancel',
            },
            ...{ selection: {}, orders: [], places: [], unread: [], declined: [], atMs },
          } as never,
          fence,
        ),
      loss: 'delete from cancel_alls',
    },
    'a timer of cancel-after': {
      action: ({ journal }) => journal.setCancelTimers(timers(60_000, 'acct-1', 'acct-2'), fence),
      loss: 'delete from cancel_timers',
    },
    'the renewal of a timer': {
      action: async ({ journal }) => {
        await journal.setCancelTimers(timers(60_000, 'acct-1'), fence);
        await journal.setCancelTimers(timers(10_000, 'acct-1'), fence);
      },
      loss: 'update cancel_timers set changes = 1',
    },
    'the revocation of a token': {
      action: seenRevoked,
      loss: 'update principal_tokens set expires_at = null',
    },
    'the end of a timer': {
      action: async ({ journal }) => {
        await journal.setCancelTimers(timers(60_000, 'acct-1', 'acct-2'), fence);
        await journal.setCancelTimers(timers(0, 'acct-1', 'acct-2'), fence);
      },
      loss: 'update cancel_timers set changes = 1, ended_at = null',
    },
  };

  it.each(Object.entries(kinds))(
    '%s that was acknowledged and lost begins a generation, whoever remembers it',
    async (_, { action, loss }) => {
      await using running = await processRig();
      await action(running);
      expect(await running.renew(), 'nothing is lost').toBe('renewed');
      expect(await running.looksByKafka(), 'nothing is lost').toBeUndefined();
      await running.loses(loss);
      expect(await running.renew(), 'the process that did it').toBe('forgotten');
      expect(await running.looksByKafka(), 'one that was started since').toEqual({ generation: 2 });
      const halts = await running.journal.activeHalts();
      expect(halts).toContainEqual(expect.objectContaining({ cause: 'commits_lost', scope: service }));
    },
  );

  it('an act is missed though many others followed before a renewal compared them', async () => {
    await using running = await processRig();
    const { journal, loses } = running;
    for (const n of Array(20).keys())
      await journal.raiseHalt(halt({ haltId: `h-${n}`, scope: accountScope(`a-${n}`) }));
    await loses("delete from halts where halt_id = 'h-0'");
    expect(await running.renew()).toBe('forgotten');
  });

  it('an act of a build that knows more kinds is not missed', async () => {
    await using running = await processRig();
    running.lease.checkpoint.saw(['of another build', 'x'] as never);
    expect(await running.renew()).toBe('renewed');
  });

  it('the parts of a service remember what their journal and their tokens have acknowledged', async () => {
    await using rig = await journalRig();
    const lease = new Lease(clock, 3_000);
    lease.checkpoint.sawLane({ generation: 1, epoch: 1n, batch: 0n });
    const parts = storeParts({ clock, random, log, lease }, { url: rig.database.url, poolSize: 1 });
    try {
      const { haltId } = await parts.journal.raiseHalt(halt());
      parts.principals.sawEnd({ name: 'desk', number: 1, sha256: '', scopes: [], accounts: 'all' }, 7);
      expect(lease.checkpoint.newest?.acts).toEqual([
        ['halt', haltId],
        ['token_end', 'desk', 1, 7],
      ]);
    } finally {
      await parts.close();
    }
  });

  it('a running process puts the halt back that its database lost, under its own id', async () => {
    await using running = await processRig();
    const { journal, loses } = running;
    const halts = new Halts({ journal, clock, random, log, metrics: createMetrics().commands });
    const kept = await halts.raise(service, 'operator', { by: 'ann', reason: 'kill switch' });
    await loses('delete from halts');
    await halts.refresh();
    expect(halts.blocking('acct-1'), 'meanwhile').toEqual(kept);
    await halts.keepDurable();
    expect(await journal.activeHalts()).toEqual([kept]);
  });

  it('a halt that is put back and was resumed stays resumed', async () => {
    await using running = await processRig();
    const { journal } = running;
    const halted = await journal.raiseHalt(halt());
    await journal.clearHalts(halted.scope, looked, fence);
    expect(await journal.raiseHalt(halted)).toMatchObject({ haltId: halted.haltId, clearedBy: 'ann' });
    expect(await journal.activeHalts()).toEqual([]);
    expect(await journal.activeHalts([halted.haltId, 'h-none'])).toMatchObject([
      { haltId: halted.haltId, clearedBy: 'ann' },
    ]);
  });

  it('a token whose revocation was lost stays refused by a running process, and is ended again', async () => {
    await using running = await processRig();
    const { rig, lease, loses } = running;
    const store = new PostgresPrincipalStore({ pool: rig.pool, clock, random, checkpoint: lease.checkpoint });
    await rig.rows(
      "insert into principal_tokens (principal, number, token_sha256, scopes) values ('desk', 1, sha256('t'), '{}')",
    );
    await watching(store, async (look, tokens) => {
      await look();
      expect(tokens.find('t')).toMatchObject({ name: 'desk' });
      await store.end('desk', 1, 0);
      await look();
      await loses('update principal_tokens set expires_at = null');
      await look();
      expect(tokens.find('t')).toBe('expired');
      await expect.poll(() => store.active()).toEqual([]);
    });
  });
});
