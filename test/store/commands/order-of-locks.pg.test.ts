import type { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import type { NewCommand, OpenResult } from '../../../src/store/commands/command-journal.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import { atMs, fence, halt, newPlace } from '../../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig } from '../../support/commands/journal-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

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

/** So many sessions wait for an advisory lock. */
function waiting(rig: JournalRig, sessions: number): Promise<void> {
  return eventually(async () => {
    const rows = await rig.rows(
      "select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'",
    );
    expect(rows).toHaveLength(sessions);
  });
}

/**
 * One write of a group that goes on. The state of its attempt, what else it answered, or its
 * SQLSTATE.
 */
async function write(group: Client, name: string, body: object): Promise<unknown> {
  const { rows } = await group.query('select result, code from write_group($1, $2, $3, $4)', [
    ...[[name], [fence.shard], [`${fence.epoch}`], [JSON.stringify(body)]],
  ]);
  const [{ result, code }] = rows;
  return code ?? result.command?.attempts[0].state ?? result;
}

const open = (group: Client, command: NewCommand) => write(group, 'open_command', command);

/**
 * The first sends for one account and then wants another, which the second has. A halt waits for
 * the first. What the second answers to an opening as sending and to a mark, and then the first.
 */
async function aroundHalt(rig: JournalRig) {
  const [first, second] = [await rig.rival(), await rig.rival()];
  // What the lock timeout would end is to be seen here.
  await first.query("alter function write_group set lock_timeout = '60s'");
  for (const group of [first, second]) await group.query('begin');
  const prepared = placeOf('acct-2');
  const before = [await open(first, sendingOf('acct-1')), await open(second, prepared)];
  expect(before).toEqual(['sending', 'prepared']);
  const halting = rig.journal.raiseHalt(halt({ scope: { kind: 'service' } }));
  await waiting(rig, 1);
  const wanting = open(first, sendingOf('acct-2'));
  await waiting(rig, 2);

  const opened = await open(second, sendingOf('acct-2'));
  const marked = await write(second, 'mark_sending', { attemptId: prepared.attemptId, atMs });
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
    expect(answered).toEqual(['prepared', '55P03', 'sending']);
    const marked = await rig.journal.markSending(prepared.attemptId ?? '', atMs, fence);
    expect(marked).toMatchObject({ code: 'PLACING_HALTED' });
  });

  it('would wait in a circle if the second waited for the halt, until the server looks for circles', async () => {
    await using rig = await countingRig();
    await rig.pool.query(`create or replace function try_sending() returns boolean language plpgsql as $$ begin
      perform pg_advisory_xact_lock_shared(hashtext('tidemark sending'), 0); return true; end $$`);
    // The server then lets it pass the halt, which waits in the same line, and ends none of them.
    expect((await aroundHalt(rig)).answered).toEqual(['sending', true, 'sending']);
  });

  it('a bad write of a group gives back no lock of a good one: a halt waits for what the group sends', async () => {
    await using rig = await countingRig();
    const group = await rig.rival();
    await group.query('begin');
    const good = sendingOf('acct-1');
    // It takes the lock and fails behind that: its attempt is there already.
    const bad = { ...sendingOf('acct-1'), attemptId: good.attemptId ?? '' };
    // One call each: a slow server would leave the rest of a longer group for the next one.
    const answers = [await open(group, good), await open(group, bad), await open(group, sendingOf('acct-2'))];
    expect(answers).toEqual(['sending', '23505', 'sending']);
    const halting = rig.journal.raiseHalt(halt({ scope: { kind: 'service' } }));
    await waiting(rig, 1);
    expect(await rig.journal.activeHalts()).toEqual([]);
    await group.query('commit');
    expect(await halting).toMatchObject({ cause: 'operator' });
    const late = sendingOf('acct-1');
    expect(await open(group, late)).toBe('prepared');
    expect(await rig.journal.markSending(late.attemptId ?? '', atMs, fence)).toMatchObject({ code: 'PLACING_HALTED' });
  });

  it('a group that is rolled back whole has sent nothing, and a halt is not held up by it', async () => {
    await using rig = await countingRig();
    const group = await rig.rival();
    await group.query('begin');
    const lost = sendingOf('acct-1');
    expect(await open(group, lost)).toBe('sending');
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
