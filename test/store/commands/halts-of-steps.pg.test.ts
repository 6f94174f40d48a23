import type { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import type { Command } from '../../../src/domain/command.ts';
import type { CommandStep, NewCommand } from '../../../src/store/commands/command-journal.ts';
import { openIn, stepIn, withoutLockTimeout } from '../../support/commands/append-in.ts';
import {
  accountScope,
  answered,
  atMs,
  fence,
  newPlace,
  sending,
  service,
} from '../../support/commands/journal-fixtures.ts';
import { type JournalRig, journalRig } from '../../support/commands/journal-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

function placeIn(accountId: string, over: Partial<NewCommand> = {}): NewCommand {
  const place = newPlace(over);
  return { ...place, request: { ...place.request, accountId } as NewCommand['request'] };
}

function doubt(command: Command, account: number, most = 100): CommandStep {
  return { ...answered(command, 'unknown'), haltAt: { account, service: most } };
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

/** A step of another process, whose transaction goes on. */
async function begun(session: Client, step: CommandStep) {
  await session.query('begin');
  return (await stepIn(session, step)).more;
}

describe('two steps to doubt at one moment', () => {
  it.each([
    ['in one account halt it', ['acct-1', 'acct-1'], { account: 2, most: 100 }, accountScope('acct-1')],
    ['in two accounts halt the service', ['acct-1', 'acct-2'], { account: 100, most: 2 }, service],
  ] as const)('%s exactly at the bound', async (_, accounts, { account, most }, scope) => {
    await using rig = await journalRig();
    const commands = [];
    for (const accountId of accounts) commands.push(await sending(rig.journal, placeIn(accountId)));
    const [one, two] = commands as [Command, Command];
    const other = await rig.rival();
    expect(await begun(other, doubt(one, account, most)), 'the first is below it').toBeNull();
    const second = rig.journal.step(doubt(two, account, most), fence);
    await waiting(rig, 1);
    await other.query('commit');
    expect(await second).toMatchObject({ halts: [{ cause: 'unresolved', scope }] });
    expect(await rig.journal.activeHalts()).toHaveLength(1);
  });

  it('halt nothing where the first of them is rolled back', async () => {
    await using rig = await journalRig();
    const one = await sending(rig.journal, placeIn('acct-1'));
    const two = await sending(rig.journal, placeIn('acct-1'));
    const other = await rig.rival();
    await begun(other, doubt(one, 2));
    const second = rig.journal.step(doubt(two, 2), fence);
    await waiting(rig, 1);
    await other.query('rollback');
    expect(await second).not.toHaveProperty('halts');
    expect(await rig.journal.activeHalts()).toEqual([]);
  });

  it('do not wait for each other where their groups have sent something before', async () => {
    await using rig = await journalRig();
    const one = await sending(rig.journal, placeIn('acct-1'));
    const two = await sending(rig.journal, placeIn('acct-2'));
    const groups = [await rig.rival(), await rig.rival()] as const;
    for (const [i, group] of groups.entries()) {
      await withoutLockTimeout(group);
      await group.query('begin');
      expect(await openIn(group, placeIn(`acct-${i + 3}`, { sendingAtMs: atMs }))).toBe('done');
    }
    const first = stepIn(groups[0], doubt(one, 1), false);
    await waiting(rig, 1);
    expect(await stepIn(groups[1], doubt(two, 1), false), 'is asked for alone').toMatchObject({ said: 'alone' });
    await groups[1].query('commit');
    expect((await first).more).toMatchObject([{ accountId: 'acct-1' }]);
    await groups[0].query('commit');
  });
});

describe('a step that halts', () => {
  it('keeps a mark waiting until its commit, and the mark then sees the halt', async () => {
    await using rig = await journalRig();
    const command = await sending(rig.journal, placeIn('acct-1'));
    const prepared = placeIn('acct-1');
    await rig.journal.open(prepared, fence);
    const other = await rig.rival();
    expect(await begun(other, doubt(command, 1))).toMatchObject([{ cause: 'unresolved', accountId: 'acct-1' }]);
    const marking = rig.journal.markSending(prepared.attemptId ?? '', atMs, fence);
    await waiting(rig, 1);
    await other.query('commit');
    expect(await marking).toMatchObject({ code: 'PLACING_HALTED' });
  });

  it('beside a resume leaves a halt: one of the two is first', async () => {
    await using rig = await journalRig();
    const commands = [];
    for (const _ of [1, 2]) commands.push(await sending(rig.journal, placeIn('acct-1')));
    const [one, two] = commands as [Command, Command];
    await rig.journal.step(doubt(one, 1), fence);
    const resuming = await rig.rival();
    await resuming.query('begin');
    await resuming.query("select clear_halts(0, 1, 'acct-1', 'ann', 'looked', 0, false)");
    const stepping = rig.journal.step(doubt(two, 1), fence);
    await eventually(async () => {
      const rows = await rig.rows(
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      expect(rows).toHaveLength(1);
    });
    await resuming.query('commit');
    expect(await stepping).toMatchObject({ halts: [{ cause: 'unresolved' }] });
  });
});

it('the sweep of a takeover that dies in the middle leaves neither itself nor its halt, and the next one both', async () => {
  await using rig = await journalRig();
  const { commandId } = await sending(rig.journal, placeIn('acct-1'));
  // What it waits for in the middle: an attempt of another shard is being marked.
  const marking = await rig.rival();
  await marking.query('begin');
  await marking.query("select pg_advisory_xact_lock_shared(hashtext('tidemark sending'), 0)");
  const next = { ...fence, epoch: 2n };
  const haltAt = { account: 1, service: 100 };
  const dying = rig.journal.takeOver(next, atMs + 50, 0, haltAt).catch((error: unknown) => error);
  await waiting(rig, 1);
  await rig.rows("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'advisory'");
  expect(await dying).toMatchObject({ code: 'COMMIT_UNKNOWN' });
  expect(await rig.journal.find(commandId)).toMatchObject({ state: 'open', version: 1 });
  expect(await rig.journal.activeHalts()).toEqual([]);
  await marking.query('rollback');
  expect(await rig.journal.takeOver(next, atMs + 90, 0, haltAt)).toMatchObject([{ commandId, state: 'unknown' }]);
  expect(await rig.journal.activeHalts()).toMatchObject([{ cause: 'unresolved', scope: accountScope('acct-1') }]);
});
