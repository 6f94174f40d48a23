import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Command } from '../../../src/domain/command.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import type { NewCommand } from '../../../src/store/commands/command-journal.ts';
import { GroupCommit } from '../../../src/store/commands/group-commit.ts';
import { PostgresOutcomeLog } from '../../../src/store/commands/outcome-log.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { answer, answered, atMs, fence, newPlace, sending } from '../../support/commands/journal-fixtures.ts';
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
  const outcomes = new PostgresOutcomeLog({ ...deps, groups });
  return { journal, outcomes, sizes, [Symbol.asyncDispose]: () => pool.end() };
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
    expect(group.sizes.slice(0, 2)).toEqual([1, 19]);
    expect(await transactions(rig)).toBeLessThan(20);
  });

  it('is done in the order in which it came, where it is about one command, or in the audit trail', async () => {
    await using rig = await journalRig();
    await using group = journalBehindProxy(rig);
    const commands = [];
    for (const asked of places(3)) commands.push(await sending(group.journal, asked));
    const steps = commands.flatMap((command) => [
      group.journal.step(answered(command, 'unknown'), fence),
      group.journal.addEvidence(command.commandId, [answer('late')]),
      group.journal.addToAuditTrail([{ atMs, principal: 'ann', action: 'resolve', commandId: command.commandId }]),
    ]);
    await Promise.all(steps);
    for (const { commandId } of commands)
      expect((await group.journal.evidenceOf(commandId)).map(({ code }) => code)).toEqual([
        ...['prepared', 'sending', 'timeout', 'late'],
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
    expect(said).toEqual(['stepped', 'stepped', 'TM010', 'fenced', 'stale', 'NO_SUCH_COMMAND', 'stepped']);
    expect(group.sizes.slice(0, 3)).toEqual([1, 1, 5]);
    expect(await transactions(rig)).toBeGreaterThan(before);
    const [, , refused] = commands;
    expect(await rig.journal.find(refused?.commandId ?? '')).toMatchObject({ state: 'open', version: 1 });
  });

  it('that met what may pass is asked for once more, alone', async () => {
    await using rig = await journalRig();
    await using group = journalBehindProxy(rig);
    await rig.pool.query(`create sequence tries; create function fail_once() returns trigger language plpgsql as $$ begin
      if nextval('public.tries') = 3 then raise exception 'deadlock' using errcode = '40P01'; end if; return new; end $$;
      create trigger fail_once before insert on attempts for each row execute function fail_once()`);
    const results = await Promise.all(places(5).map((asked) => group.journal.open(asked, fence)));
    expect(results.map(({ kind }) => kind)).toEqual(Array(5).fill('opened'));
    expect(await rig.rows('select last_value::int as tries from tries')).toEqual([{ tries: 6 }]);
    expect(group.sizes.slice(0, 2)).toEqual([1, 4]);
  });
});

describe('a write that takes long', () => {
  it('leaves those behind it to the next group', async () => {
    await using rig = await journalRig();
    await using group = journalBehindProxy(rig);
    await rig.pool.query(`create sequence tries; create function slow() returns trigger language plpgsql as $$ begin
      perform pg_sleep(case nextval('public.tries') when 2 then 0.2 else 0 end); return new; end $$;
      create trigger slow before insert on attempts for each row execute function slow()`);
    const results = await Promise.all(places(4).map((asked) => group.journal.open(asked, fence)));
    expect(results.map(({ kind }) => kind)).toEqual(Array(4).fill('opened'));
    expect(group.sizes.slice(0, 3)).toEqual([1, 3, 2]);
  });
});

describe('a row that another session holds', () => {
  it('holds up its own write, and no stranger in the group', async () => {
    await using rig = await journalRig();
    const commands = [];
    for (const asked of places(5)) commands.push(await sending(rig.journal, asked));
    const [held, ...others] = commands as [Command, ...Command[]];
    const operator = await rig.rival();
    await operator.query('begin');
    await operator.query('select from commands where command_id = $1 for update', [held.commandId]);
    let isDone = false;
    // These go alone, so that the write that has to wait is in a group with those behind it.
    const first = others.slice(0, 2).map(({ commandId }) => rig.journal.addEvidence(commandId, [answer('first')]));
    const waiting = rig.journal.step(answered(held, 'accepted'), fence).finally(() => {
      isDone = true;
    });
    const steps = others.map((command) => rig.journal.step(answered(command, 'accepted'), fence));
    await Promise.all(first);
    expect(await Promise.all(steps)).toMatchObject(others.map(() => ({ kind: 'stepped' })));
    expect(isDone).toBe(false);
    await operator.query('commit');
    expect(await waiting).toMatchObject({ kind: 'stepped' });
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
  it('leaves the outcome unknown to each of the group and to no other, and repeats nothing', async () => {
    await using rig = await journalRig();
    await using group = journalBehindProxy(rig);
    // The second opening is at work until we look away, and the group ends behind it.
    await rig.pool.query(`create sequence tries; create function slow() returns trigger language plpgsql as $$ begin
      perform pg_sleep(case nextval('public.tries') when 1 then 0.2 when 2 then 2 else 0 end); return new; end $$;
      create trigger slow before insert on attempts for each row execute function slow()`);
    const asked = places(4);
    const opening = asked.map((place) => group.journal.open(place, fence));
    const resolved = Promise.allSettled(opening);
    await eventually(async () => {
      const rows = await rig.rows("select pid from pg_stat_activity where wait_event = 'PgSleep'");
      const [{ tries } = { tries: 0 }] = await rig.rows<{ tries: number }>(
        'select last_value::int as tries from tries',
      );
      expect([tries, rows.length]).toEqual([2, 1]);
    });
    rig.proxy.cut('reset');
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
    expect(again.map(({ kind }) => kind)).toEqual(['replayed', 'replayed', 'opened', 'opened']);
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
           and datname = current_database() and state = 'active' and query like '%write_group%' limit 1`,
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

describe('outcomes that were published', () => {
  it('wait for no disk alone, and for that of the steps in one group with them', async () => {
    await using rig = await journalRig();
    await using group = journalBehindProxy(rig);
    await rig.pool.query(`create table waits (how text); create function note_wait() returns trigger language plpgsql as $$ begin
      insert into public.waits values (current_setting('synchronous_commit')); return old; end $$;
      grant insert on waits to public;
      create trigger note_wait after delete on command_outbox for each row execute function note_wait()`);
    const command = await sending(group.journal);
    const others = [await sending(rig.journal), await sending(rig.journal)];
    const [row] = await group.outcomes.readUnpublished(10, [0]);
    await group.outcomes.markPublished(row === undefined ? [] : [row]);
    await group.journal.step(answered(command, 'accepted'), fence);
    const [next] = await group.outcomes.readUnpublished(10, [0]);
    await Promise.all([
      ...others.map(({ commandId }) => group.journal.addEvidence(commandId, [answer('first')])),
      group.journal.addEvidence(command.commandId, [answer('second')]),
      group.outcomes.markPublished(next === undefined ? [] : [next]),
    ]);
    expect(await rig.rows('select how from waits')).toEqual([{ how: 'off' }, { how: 'on' }]);
    expect(await group.outcomes.readUnpublished(10, [0])).toHaveLength(2);
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
