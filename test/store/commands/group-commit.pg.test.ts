import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Command } from '../../../src/domain/command.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import type { NewCommand } from '../../../src/store/commands/command-journal.ts';
import { GroupCommit } from '../../../src/store/commands/group-commit.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import { PostgresResultLog } from '../../../src/store/commands/result-log.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { openIn } from '../../support/commands/append-in.ts';
import { answered, atMs, fence, newPlace, sending } from '../../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig } from '../../support/commands/journal-rig.ts';
import { proxiedUrl } from '../../support/orders/store-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { testLog } from '../../support/runs/test-log.ts';

/** A journal with connections of its own, through the rig's proxy. */
function journalBehindProxy(rig: JournalRig) {
  const url = proxiedUrl(rig.database.url, rig.proxy);
  const pool = createPool({ log: testLog }, { url, applicationName: 'test-groups', maxConnections: 8 });
  const sizes: number[] = [];
  const deps = { pool, clock: systemClock, random: systemRandom };
  const groups = new GroupCommit({ ...deps, onGroup: (writes) => sizes.push(writes) });
  const journal = createPostgresJournal({ ...deps, groups });
  const results = new PostgresResultLog({ ...deps, numbers: groups.numbers });
  return { journal, results, sizes, [Symbol.asyncDispose]: () => pool.end() };
}

const places = (count: number, over: Partial<NewCommand> = {}) => Array.from({ length: count }, () => newPlace(over));

/** How many transactions wrote the events. */
async function transactions(rig: JournalRig): Promise<number> {
  const [row] = await rig.rows<{ n: number }>('select count(distinct tx_id)::int as n from command_events');
  return row?.n ?? 0;
}

describe('what is written at one moment', () => {
  it('shares a commit: the first at once, and what came meanwhile as one group', async () => {
    await using rig = await journalRig();
    await using group = journalBehindProxy(rig);
    const results = await Promise.all(places(20).map((asked) => group.journal.open(asked, fence)));
    expect(results.map(({ kind }) => kind)).toEqual(Array(20).fill('opened'));
    expect(group.sizes).toEqual([1, 19]);
    expect(await transactions(rig)).toBeLessThan(20);
  });

  it('is done in the order in which it came, where it is about one command, or in the audit trail', async () => {
    await using rig = await journalRig();
    await using group = journalBehindProxy(rig);
    const commands = [];
    for (const asked of places(3)) commands.push(await sending(group.journal, asked));
    const steps = commands.flatMap((command) => [
      group.journal.step(answered(command, 'unknown'), fence),
      group.journal.addToAuditTrail([{ atMs, principal: 'ann', action: 'resolve', commandId: command.commandId }]),
    ]);
    await Promise.all(steps);
    for (const { commandId } of commands)
      expect((await rig.evidenceOf(commandId)).map(({ code }) => code)).toEqual([
        ...['prepared', 'sending', 'timeout'],
      ]);
    const lines = await rig.rows<{ command_id: string }>('select command_id from audit_log order by id');
    expect(lines.map(({ command_id }) => command_id)).toEqual(commands.map(({ commandId }) => commandId));
  });

  it('is held to limits one after the other, so those that came first are let through', async () => {
    await using rig = await journalRig();
    const [before, bounds, by, reason] = [{}, { maxOpenOrders: 4 }, 'ann', 'r'] as const;
    await rig.journal.changeLimits({ before, bounds, by, reason, requestId: 'r-1', atMs });
    const measure = { symbols: ['AAPL'], underlyings: ['AAPL'], exposure: '0' } as unknown as NewCommand['measure'];
    const asked = places(8, measure === undefined ? {} : { measure });
    const results = await Promise.all(asked.map((place) => rig.journal.open(place, fence)));
    expect(results.map(({ kind }) => kind)).toEqual([...Array(4).fill('opened'), ...Array(4).fill('limited')]);
  });
});

describe('issue: The last step of a place and its line in the audit trail were a commit each.', () => {
  it('writes that nobody waits for share a commit, and go with the next opening', async () => {
    await using rig = await journalRig();
    await using group = journalBehindProxy(rig);
    const accept = async () => {
      const stepped = await group.journal.step(answered(await sending(group.journal, newPlace()), 'accepted'), fence);
      if (stepped.kind !== 'stepped') throw new Error(stepped.kind);
      return stepped.command;
    };
    const apply = ({ commandId, version }: Command) =>
      group.journal.step({ commandId, version, to: 'applied', atMs, evidence: [], mayWait: true }, fence);
    const line = ({ commandId }: Command) =>
      group.journal.addToAuditTrail([{ atMs, principal: 'ann', action: 'place', commandId }], false, true);
    const [first, second] = [await accept(), await accept()];
    group.sizes.length = 0;
    expect(await Promise.all([apply(first), line(first)])).toMatchObject([{ kind: 'stepped' }, undefined]);
    expect(group.sizes).toEqual([2]);
    const all = [apply(second), line(second), group.journal.open(newPlace(), fence)];
    expect(await Promise.all(all)).toMatchObject([{ kind: 'stepped' }, undefined, { kind: 'opened' }]);
    expect(group.sizes).toEqual([2, 3]);
  });
});

describe('one bad write among many', () => {
  it('gets its own objection, and the others are done once', async () => {
    await using rig = await journalRig();
    await using group = journalBehindProxy(rig);
    const commands = [];
    for (const asked of places(7)) commands.push(await sending(group.journal, asked));
    const before = await transactions(rig);
    group.sizes.length = 0;
    const results = await Promise.allSettled(
      commands.map((command, i) => {
        const step = answered(command, 'accepted');
        // An unknown command, a step that no row allows, another holder's, and one decided on what
        // is no longer so.
        if (i === 5) return group.journal.step({ ...step, commandId: randomUUID() }, fence);
        if (i === 2) return group.journal.step({ ...step, to: 'refused', nextAttemptId: 'no' }, fence);
        if (i === 3) return group.journal.step(step, { ...fence, epoch: 9n });
        if (i === 4) return group.journal.step({ ...step, version: 7 }, fence);
        return group.journal.step(step, fence);
      }),
    );
    const said = results.map((each) => (each.status === 'fulfilled' ? each.value.kind : each.reason.code));
    expect(said).toEqual(['stepped', 'stepped', '23514', 'fenced', 'stale', 'NO_SUCH_COMMAND', 'stepped']);
    expect(await transactions(rig)).toBeGreaterThan(before);
    const [, , refused] = commands;
    expect(await rig.journal.find(refused?.commandId ?? '')).toMatchObject({ state: 'open', version: 1 });
  });

  it('that met what may pass is asked for once more, alone', async () => {
    await using rig = await journalRig();
    await using group = journalBehindProxy(rig);
    await rig.pool.query(`create sequence tries; create function fail_once() returns trigger language plpgsql as $$ begin
      if nextval('public.tries') = 3 then raise exception 'deadlock' using errcode = '40P01'; end if; return new; end $$;
      create trigger fail_once before insert on journal for each row execute function fail_once()`);
    const results = await Promise.all(places(5).map((asked) => group.journal.open(asked, fence)));
    expect(results.map(({ kind }) => kind)).toEqual(Array(5).fill('opened'));
    expect(await rig.rows('select last_value::int as tries from tries')).toEqual([{ tries: 7 }]);
    expect(group.sizes).toEqual([1, 4]);
  });
});

describe('a key that another session holds', () => {
  it('holds up its own opening, and no stranger in the group', async () => {
    await using rig = await journalRig();
    const operator = await rig.rival();
    const [held, ...others] = places(5);
    await operator.query('begin');
    await openIn(operator, newPlace({ idempotencyKey: held?.idempotencyKey ?? '' }));
    let isDone = false;
    const waiting = rig.journal.open(held as NewCommand, fence).finally(() => {
      isDone = true;
    });
    const opening = others.map((asked) => rig.journal.open(asked, fence));
    expect(await Promise.all(opening)).toMatchObject(others.map(() => ({ kind: 'opened' })));
    expect(isDone).toBe(false);
    await operator.query('commit');
    expect(await waiting).toMatchObject({ kind: 'replayed' });
  });
});

describe('two processes that write at once', () => {
  it('answer each key with one command, and wait for each other in no circle', async () => {
    await using rig = await journalRig();
    const other = { shard: 1, epoch: 1n };
    await rig.journal.takeOver(other, atMs, 0);
    await using first = journalBehindProxy(rig);
    await using second = journalBehindProxy(rig);
    const keys = Array.from({ length: 30 }, () => randomUUID());
    const open = (idempotencyKey: string) => newPlace({ idempotencyKey });
    const results = await Promise.all([
      ...keys.map((key) => first.journal.open(open(key), fence)),
      ...keys.toReversed().map((key) => second.journal.open(open(key), other)),
    ]);
    for (const key of keys) {
      const found = results.filter((each) => 'command' in each && each.command.idempotencyKey === key);
      expect(found.map(({ kind }) => kind).sort()).toEqual(['opened', 'replayed']);
      expect(new Set(found.map((each) => 'command' in each && each.command.commandId)).size).toBe(1);
    }
  });
});

describe('a connection that is lost in the middle of a group', () => {
  it('leaves the result unknown to each of the group and to no other, and repeats nothing', async () => {
    await using rig = await journalRig();
    await using group = journalBehindProxy(rig);
    // The second opening is at work until we look away, with the others of its group.
    await rig.pool.query(`create sequence tries; create function slow() returns trigger language plpgsql as $$ begin
      perform pg_sleep(case nextval('public.tries') when 1 then 0.2 when 2 then 2 else 0 end); return new; end $$;
      create trigger slow before insert on journal for each row execute function slow()`);
    const asked = places(4);
    const opening = asked.map((place) => group.journal.open(place, fence));
    const resolved = Promise.allSettled(opening);
    await eventually(async () => {
      const rows = await rig.rows(
        "select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()",
      );
      const [{ tries } = { tries: 0 }] = await rig.rows<{ tries: number }>(
        'select last_value::int as tries from tries',
      );
      expect([tries, rows.length]).toEqual([2, 1]);
    });
    rig.proxy.cut('fin');
    const said = (await resolved).map((each) => (each.status === 'fulfilled' ? each.value.kind : each.reason.code));
    expect(said).toEqual(['opened', 'COMMIT_UNKNOWN', 'COMMIT_UNKNOWN', 'COMMIT_UNKNOWN']);
    expect(group.sizes).toEqual([1, 3]);
    // It was whole at the server, and ends there behind our back; each key still has one answer.
    await eventually(async () =>
      expect(await rig.journal.findByKey('desk', asked[1]?.idempotencyKey ?? '')).toBeDefined(),
    );
    const again = await Promise.all(
      asked.map((place) => group.journal.open({ ...place, commandId: randomUUID(), attemptId: newAttempt() }, fence)),
    );
    expect(again.map(({ kind }) => kind)).toEqual(Array(4).fill('replayed'));
  });
});

describe('backends that are terminated in the middle of groups, under load', () => {
  it('leave each answer true: what was opened is there, what was refused is not, and each key has one command', async () => {
    await using rig = await journalRig();
    await using group = journalBehindProxy(rig);
    const asked: NewCommand[] = [];
    const said = new Map<string, string>();
    const opened = () => [...said.values()].filter((each) => each === 'opened').length;
    const killer = await rig.rival();
    let killed = 0;
    const killing = (async () => {
      while (killed < 30) {
        const { rowCount } = await killer.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'test-groups'
           and datname = current_database() and state = 'active' and query like '%append_journal%' limit 1`,
        );
        killed += rowCount ?? 0;
        await eventually(() => expect(opened()).toBeGreaterThan(3 * killed));
      }
    })();
    const caller = async () => {
      while (killed < 30) {
        const place = newPlace();
        asked.push(place);
        const answer = await group.journal
          .open(place, fence)
          .catch((error: { code: string }) => ({ kind: error.code }));
        said.set(place.idempotencyKey, answer.kind);
      }
    };
    await Promise.all([killing, ...Array.from({ length: 24 }, caller)]);
    const keys = async () =>
      (await rig.rows<{ key: string }>('select idempotency_key as key from commands')).map(({ key }) => key);
    const stored = new Set(await keys());
    for (const [key, answer] of said)
      if (answer !== 'COMMIT_UNKNOWN') expect([key, stored.has(key)]).toEqual([key, answer === 'opened']);
    expect([...said.values()]).toContain('COMMIT_UNKNOWN');
    expect(Math.max(...group.sizes)).toBeGreaterThan(2);
    const again = await Promise.all(
      asked.map((place) => group.journal.open({ ...place, commandId: randomUUID(), attemptId: newAttempt() }, fence)),
    );
    expect(again.map(({ kind }) => kind === 'replayed')).toEqual(
      asked.map(({ idempotencyKey }) => stored.has(idempotencyKey)),
    );
    expect((await keys()).sort()).toEqual(asked.map(({ idempotencyKey }) => idempotencyKey).sort());
  });
});

describe('a database that is away', () => {
  it('refuses what waits as not sent, and takes what comes after it is back', async () => {
    await using rig = await journalRig();
    await using group = journalBehindProxy(rig);
    await rig.proxy.refuse();
    const results = await Promise.allSettled(places(5).map((asked) => group.journal.open(asked, fence)));
    for (const each of results)
      expect(each).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE', retryable: true } });
    expect(await rig.rows('select from commands')).toEqual([]);
    await rig.proxy.accept();
    expect(await group.journal.open(newPlace(), fence)).toMatchObject({ kind: 'opened' });
  });
});

describe('results that were published', () => {
  it('wait for no disk', async () => {
    await using rig = await journalRig();
    await using group = journalBehindProxy(rig);
    await rig.pool.query(`create table waits (how text); create function note_wait() returns trigger language plpgsql as $$ begin
      insert into public.waits values (current_setting('synchronous_commit')); return new; end $$;
      grant insert on waits to public;
      create trigger note_wait after update on result_positions for each row execute function note_wait()`);
    await sending(group.journal);
    await group.results.markPublished(await group.results.readUnpublished(10, [0]));
    expect(await rig.rows('select how from waits')).toEqual([{ how: 'off' }]);
    expect(await group.results.readUnpublished(10, [0])).toEqual([]);
  });
});

function newAttempt(): string {
  return `tm-${randomUUID()}`;
}

describe('issue: With thirty commands at once, Postgres waited for its disk for each of their steps.', () => {
  it('steps of one moment share commits', async () => {
    await using rig = await journalRig();
    const commands = await Promise.all(Array.from({ length: 30 }, () => sending(rig.journal, newPlace())));
    await Promise.all(commands.map((command) => rig.journal.step(answered(command, 'accepted'), fence)));
    const commits = await rig.rows(
      'select version, count(*)::int as events, count(distinct tx_id) < count(*) as shared from command_events group by version order by version',
    );
    expect(commits).toEqual([
      { version: 1, events: 30, shared: true },
      { version: 2, events: 30, shared: true },
    ]);
  });
});
