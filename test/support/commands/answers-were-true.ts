import { inspect } from 'node:util';
import { expect } from 'vitest';
import type { Halt } from '../../../src/store/commands/halts-journal.ts';
import { eventually } from '../runs/poll.ts';
import type { CommandsUnderFaults } from './commands-under-faults.ts';

interface CommandRow {
  readonly id: string;
  readonly key: string;
  readonly kind: string;
  readonly state: string;
  readonly attempts: readonly { readonly id: string; readonly state: string }[];
}

function readCommands(world: CommandsUnderFaults): Promise<CommandRow[]> {
  return world.rig.rows<CommandRow>(
    `select command_id as id, idempotency_key as key, kind, state,
       (select coalesce(json_agg(json_build_object('id', attempt_id, 'state', a.state) order by number), '[]')
        from attempts a where a.command_id = c.command_id) as attempts
     from commands c`,
  );
}

/** Nothing is under way any more. */
function settledDown(world: CommandsUnderFaults): Promise<CommandRow[]> {
  return eventually(
    async () => {
      const commands = await readCommands(world);
      const open = commands.filter(
        ({ state, attempts }) =>
          state === 'open' || attempts.some((each) => ['prepared', 'sending'].includes(each.state)),
      );
      if (open.length > 0) throw new Error(`under way for too long: ${JSON.stringify(open)}`);
      return commands;
    },
    // A write whose answer was lost may commit within a minute, and the sweep behind it ends it.
    { deadlineMs: 100_000 },
  );
}

/** Every answer that a caller got, against the journal and the ledger of order entry. */
export async function expectTruth(world: CommandsUnderFaults): Promise<void> {
  const commands = await settledDown(world);
  expectWrites(world, commands);
  expectSubmissions(world, commands);
  expectStops(world);
  await expectApprovals(world);
  await expectHaltsStored(world);
  await expectActions(world, commands);
}

function takenOf({ entry }: CommandsUnderFaults, { attempts }: CommandRow): number {
  return entry.ledger.filter(({ attemptId, taken }) => taken && attempts.some(({ id }) => id === attemptId)).length;
}

/**
 * Nothing was sent twice, nothing that the journal does not have, and nothing of which the journal
 * says that it was not sent.
 */
function expectWrites(world: CommandsUnderFaults, commands: readonly CommandRow[]): void {
  const attempts = new Map(
    commands.flatMap((command) => command.attempts.map(({ id, state }) => [id, { state, command }])),
  );
  const written = world.entry.ledger.map(({ attemptId }) => attemptId);
  expect(new Set(written).size, 'attempts were written twice').toBe(written.length);
  for (const { attemptId, taken } of world.entry.ledger) {
    const attempt = attempts.get(attemptId);
    expect(attempt, `${attemptId} was written, and is not in the journal`).toBeDefined();
    if (taken) expect(['accepted', 'unknown'], `${attemptId} was taken`).toContain(attempt?.state);
  }
  for (const command of commands) {
    expect(takenOf(world, command), `${command.key} was sent`).toBeLessThanOrEqual(1);
    if (['not_sent', 'refused'].includes(command.state)) expect(takenOf(world, command), `${command.key}`).toBe(0);
  }
}

/**
 * What was said to be journaled is, under its key; what was said not to
 * be sent was not; one key has one command.
 */
function expectSubmissions(world: CommandsUnderFaults, commands: readonly CommandRow[]): void {
  for (const [key, said] of Map.groupBy(world.said, ({ submission }) => submission.idempotencyKey)) {
    const rows = commands.filter((row) => row.key === key);
    const journaled = said.flatMap(({ result }) => (result.kind === 'journaled' ? [result.command] : []));
    const ids = new Set(journaled.map(({ commandId }) => commandId));
    expect(ids.size, `${key} names one command`).toBeLessThanOrEqual(1);
    expect(rows.length, `${key} is there once`).toBeLessThanOrEqual(1);
    for (const id of ids)
      expect(
        rows.map((row) => row.id),
        `${key} was journaled`,
      ).toEqual([id]);
    const [row] = rows;
    const taken = row === undefined ? 0 : takenOf(world, row);
    if (ids.size === 0) expect(taken, `${key} was declined each time: ${inspect(said, { depth: 5 })}`).toBe(0);
    if (journaled.some(({ state }) => state === 'not_sent' || state === 'refused'))
      expect(taken, `${key} was not sent`).toBe(0);
  }
}

function covers(scope: Halt['scope'], accountId: string): boolean {
  return scope.kind === 'service' || scope.accountId === accountId;
}

function same(a: Halt['scope'], b: Halt['scope']): boolean {
  return a.kind === 'service' ? b.kind === 'service' : b.kind === 'account' && a.accountId === b.accountId;
}

/**
 * Behind a halt that was acknowledged nothing but cancels, until somebody asks to resume; one that
 * asks at the same time may come after it.
 */
function expectStops({ stops, entry }: CommandsUnderFaults): void {
  for (const { action, scope, kind, askedMs, answeredMs } of stops) {
    if (action !== 'halt' || kind !== 'done') continue;
    const resumed = stops.filter(
      (each) => each.action === 'resume' && same(each.scope, scope) && each.answeredMs > askedMs,
    );
    const untilMs = Math.min(...resumed.map(({ askedMs }) => askedMs));
    const behind = entry.ledger.filter(
      (each) =>
        each.kind !== 'cancel' && covers(scope, each.accountId) && each.atMs > answeredMs && each.atMs < untilMs,
    );
    expect(behind, 'written behind a halt that was acknowledged').toEqual([]);
  }
}

async function expectHaltsStored({ stops, rig }: CommandsUnderFaults): Promise<void> {
  for (const scope of new Map(stops.map((each) => [JSON.stringify(each.scope), each.scope])).values()) {
    const its = stops.filter((each) => same(each.scope, scope)).sort((a, b) => a.answeredMs - b.answeredMs);
    const last = its.at(-1);
    const before = its.at(-2);
    const overlaps = before !== undefined && last !== undefined && before.answeredMs > last.askedMs;
    if (last === undefined || overlaps || last.kind !== 'done') continue;
    const rows = await rig.rows('select from halts where account_id is not distinct from $1 and cleared_at is null', [
      scope.kind === 'account' ? scope.accountId : null,
    ]);
    if (last.action === 'halt') expect(rows.length, `${JSON.stringify(scope)} is halted`).toBeGreaterThan(0);
    else if (its.every(({ kind }) => kind === 'done')) expect(rows, `${JSON.stringify(scope)} was resumed`).toEqual([]);
  }
}

/** An approval is spent by its act, and by nothing else: the two stand in one transaction. */
async function expectApprovals({ rig }: CommandsUnderFaults): Promise<void> {
  const [counted] = await rig.rows<Record<string, string>>(`select
    (select count(*) from approvals where approved_at is not null and action ->> 'kind' = 'change_limits') as limits,
    (select count(*) from audit_log where action = 'change_limits' and detail ->> 'approvedBy' is not null) as changed,
    (select count(*) from approvals where approved_at is not null and action ->> 'kind' = 'resolve') as resolutions,
    (select count(*) from evidence where kind = 'person' and detail ->> 'approvedBy' is not null) as resolved,
    (select count(*) from approvals where approved_at is not null) as approved,
    (select count(*) from audit_log where action = 'approve') as lines`);
  const { limits, changed, resolutions, resolved, approved, lines } = counted ?? {};
  expect({ limits, resolutions, approved }, 'approvals that were spent').toEqual({
    ...{ limits: changed, resolutions: resolved, approved: lines },
  });
}

async function expectActions(world: CommandsUnderFaults, commands: readonly CommandRow[]): Promise<void> {
  for (const { commandId, result } of world.resolved)
    expect(commands.find(({ id }) => id === commandId)?.state, 'resolved by a person').toBe(result);
  const [limits] = await world.rig.rows<{ bounds: { maxQuantity?: string } }>('select bounds from limits');
  expect(world.bounds).toContain(limits?.bounds.maxQuantity);
  for (const said of Map.groupBy(world.cancelAlls, ({ key }) => key).values()) {
    expect(new Set(said.map(({ orders }) => orders)).size, 'one cancel-all is of the same orders').toBe(1);
    const rows = await world.rig.rows('select from cancel_alls where idempotency_key = $1', [said[0]?.key]);
    expect(rows, 'a cancel-all that was done is written down').toHaveLength(1);
  }
}
