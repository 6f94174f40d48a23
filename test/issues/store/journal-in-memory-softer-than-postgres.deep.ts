// What a user saw: A developer's test passed with the journal in memory, and Postgres refused the same step.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { attemptStates, type Command, commandStates } from '../../../src/domain/command.ts';
import type { CommandJournal, CommandStep } from '../../../src/store/commands/command-journal.ts';
import type { Fence } from '../../../src/store/commands/term.ts';
import {
  atMs,
  attemptId,
  fence,
  halt,
  newCancel,
  newCancelAll,
  newReplace,
} from '../../support/commands/journal-fixtures.ts';
import { fenced, outcomeOf, sqlCall, type TwinCall, twinJournals } from '../../support/commands/twin-journals.ts';

const day = 86_400_000;

/** The same step for both. */
function step(of: Command, over: Partial<CommandStep>, name: string, under: Fence = fence): TwinCall {
  const { commandId, version } = of;
  const asked: CommandStep = { commandId, version, to: of.state, atMs: atMs + 50, evidence: [], ...over };
  const sql = sqlCall('step_command', under.shard, under.epoch, asked);
  return { name: `${of.state} → ${asked.to}, ${name}`, of, sql, call: (journal) => journal.step(asked, under) };
}

/** Every move of this attempt; without one, the command moves alone. */
function moves({ attempts }: Command, which: number): readonly (CommandStep['attempt'] | undefined)[] {
  const attempt = attempts[which];
  if (attempt === undefined) return [undefined];
  const reason = { code: 'A', message: 'a' };
  const its = attemptStates.map((to) => ({ attemptId: attempt.attemptId, from: attempt.state, to, reason }));
  return [undefined, ...its];
}

describe('the journal in memory does what the one in Postgres does', () => {
  it('with every step: command state × attempt state × the states that both go to × a further attempt', async () => {
    await using twins = await twinJournals();
    const seen = { calls: 0, refused: 0 };
    for (const state of commandStates)
      for (const attempt of attemptStates) {
        const command = await twins.add(state, [attempt]);
        const calls = commandStates.flatMap((to) =>
          moves(command, 0).flatMap((move) =>
            [false, true].map((further) => {
              const next = further ? { nextAttemptId: attemptId() } : {};
              const name = `its ${attempt} attempt → ${move?.to ?? 'stays'}${further ? ', and another' : ''}`;
              return step(command, { to, ...(move && { attempt: move }), ...next }, name);
            }),
          ),
        );
        const { differing, refused } = await twins.compare(calls);
        expect(differing).toEqual([]);
        seen.calls += calls.length;
        seen.refused += refused;
      }
    expect(seen.calls).toBe(9 * 7 * 9 * 8 * 2);
    expect(seen.refused).toBeGreaterThan(seen.calls / 2);
    expect(seen.refused).toBeLessThan(seen.calls);
  });

  it('with every step of each kind that names an order, or a label of absence', async () => {
    await using twins = await twinJournals();
    await twins.add('applied', ['accepted'], { orderId: 'taken' });
    const kinds = [{}, { asked: newReplace('p-1') }, { asked: newCancel('p-1') }, { orderId: 'bound' }];
    for (const state of commandStates)
      for (const kind of kinds) {
        const asked =
          'asked' in kind
            ? { ...kind.asked, commandId: randomUUID(), idempotencyKey: randomUUID(), attemptId: attemptId() }
            : {};
        const command = await twins.add(state, ['unknown'], {
          ...kind,
          asked,
          ...(kind.orderId && { orderId: `${kind.orderId}-${state}` }),
        });
        const orders = [undefined, command.orderId ?? 'free', 'taken'];
        const calls = commandStates.flatMap((to) =>
          orders.flatMap((orderId) =>
            [undefined, true, false].map((presumedAbsent) => {
              const named = {
                ...(orderId !== undefined && { orderId }),
                ...(presumedAbsent !== undefined && { presumedAbsent }),
              };
              const others = { misses: 2, seenPendingAt: { revision: 4, sourceVersion: 5n } };
              const sent = { ...named, ...(presumedAbsent === true && others) };
              return step(command, { to, ...sent }, `${command.request.kind} of ${orderId}, absent: ${presumedAbsent}`);
            }),
          ),
        );
        expect((await twins.compare(calls)).differing).toEqual([]);
      }
  });

  it('with every move of either of two attempts, and with what is not there', async () => {
    await using twins = await twinJournals();
    for (const first of ['not_sent', 'refused'] as const)
      for (const second of attemptStates) {
        const command = await twins.add('open', [first, second]);
        const other = { attemptId: 'tm-of-nobody', from: 'sending', to: 'accepted' } as const;
        const calls = [0, 1].flatMap((which) =>
          [...moves(command, which), { ...other, from: second }].flatMap((move) =>
            [undefined, attemptId(), 'x-no-attempt', command.attempts[0]?.attemptId].map((nextAttemptId) =>
              step(
                command,
                { to: 'open', ...(move && { attempt: move }), ...(nextAttemptId !== undefined && { nextAttemptId }) },
                `${first}, ${second}: ${which + 1} → ${move?.to}, then ${nextAttemptId}`,
              ),
            ),
          ),
        );
        expect((await twins.compare(calls)).differing).toEqual([]);
      }
    const command = await twins.add('unknown', ['unknown']);
    const applied = { to: 'applied' } as const;
    const strange = [
      step(command, { ...applied, commandId: randomUUID() }, 'of nobody'),
      step(command, { ...applied, version: 9 }, 'at another version'),
      step(command, applied, 'of another shard', { ...fence, shard: 1 }),
      step(command, applied, 'of a later holder', fenced()),
    ];
    expect((await twins.compare(strange)).differing).toEqual([]);
    expect(new Set(strange.map(({ name }) => name)).size).toBe(4);
  });

  it('with every mark before a write, halted or not, and with every miss', async () => {
    await using twins = await twinJournals();
    const commands: Command[] = [];
    for (const state of commandStates)
      for (const attempt of attemptStates)
        for (const epoch of [fence.epoch, 0n])
          for (const asked of [{}, newCancel('p-1', { idempotencyKey: randomUUID() })])
            commands.push(await twins.add(state, [attempt], { asked, epoch }));
    const marks = commands.flatMap((of) =>
      [fence, fenced()].map((under): TwinCall => {
        const id = of.attempts[0]?.attemptId ?? '';
        const name = `${of.request.kind}, ${of.state}, ${of.attempts[0]?.state} under ${of.attempts[0]?.epoch}, ${under.epoch}`;
        const sql = sqlCall('mark_sending', under.shard, under.epoch, id, atMs);
        return { name, of, sql, call: (journal) => journal.markSending(id, atMs, under) };
      }),
    );
    const missed = (of: Command, under: Fence, version: number): TwinCall => {
      const miss = {
        commandId: of.commandId,
        version,
        evidence: { kind: 'read', code: 'missed', detail: {}, atMs },
      } as const;
      const sql = sqlCall('note_misses', under.shard, under.epoch, [miss]);
      return { name: `missed, ${of.state}`, of, sql, call: (journal) => journal.noteMisses([miss], under) };
    };
    const misses = commands.flatMap((of) =>
      [fence, fenced(), { ...fence, shard: 1 }].flatMap((under) => [1, 2].map((version) => missed(of, under, version))),
    );
    expect((await twins.compare([...marks, ...misses])).differing).toEqual([]);
    const raised = halt();
    await twins.both((journal) => journal.raiseHalt(raised));
    expect((await twins.compare(marks)).differing).toEqual([]);
  });

  it('with a takeover of every command state × attempt state, and with one that comes too late', async () => {
    await using twins = await twinJournals();
    const ids: string[] = [];
    for (const state of commandStates)
      for (const attempt of attemptStates)
        for (const epoch of [fence.epoch, 2n]) ids.push((await twins.add(state, [attempt], { epoch })).commandId);
    const work = async (journal: CommandJournal) => {
      const left = await journal.takeOver({ ...fence, epoch: 2n }, atMs + 99, day);
      const commands = [];
      for (const id of ids) commands.push(await journal.find(id));
      const late = await outcomeOf(() => journal.takeOver(fence, atMs + 100, day));
      return { commands, left: left.map(({ commandId }) => commandId).sort(), late };
    };
    const [postgres, memory] = await twins.both(work);
    expect(memory).toEqual(postgres);
    expect(postgres?.late).toEqual({ code: 'FENCED' });
  });

  it('with every change of a halt', async () => {
    await using twins = await twinJournals();
    const scopes = [{ kind: 'service' }, { kind: 'account', accountId: 'acct-1' }] as const;
    const cases = scopes.flatMap((scope) =>
      ['operator', 'rate'].flatMap((cause) =>
        ['absent', 'active', 'cleared'].map((prior) => ({ scope, cause, prior })),
      ),
    );
    for (const { scope, cause, prior } of cases) {
      const first = halt({ scope, cause });
      const otherScope = scopes[scope.kind === 'service' ? 1 : 0];
      const raises = [
        first,
        halt({ scope, cause }),
        { ...first, cause: 'other' },
        { ...first, scope: otherScope },
        halt({ scope: { kind: 'account', accountId: '' } }),
      ].map((raised) => (journal: CommandJournal) => journal.raiseHalt(raised));
      const clears = [scope, otherScope].flatMap((of) =>
        [{ reason: 'looked' }, { reason: '' }, { reason: 'looked', ofSomeAccounts: true as const }].flatMap((word) =>
          [fence, fenced()].map(
            (under) => (journal: CommandJournal) =>
              journal.clearHalts(of, { by: 'ann', atMs: atMs + 5, ...word }, under),
          ),
        ),
      );
      for (const [i, move] of [...raises, ...clears].entries()) {
        const outcomes = await twins.both(async (journal) => {
          if (prior !== 'absent') await journal.raiseHalt(first);
          if (prior === 'cleared') await journal.clearHalts(scope, { by: 'bob', reason: 'over', atMs }, fence);
          return { outcome: await outcomeOf(() => move(journal)), active: await journal.activeHalts() };
        });
        const name = `${scope.kind}, ${cause}, ${prior}, move ${i}`;
        expect(outcomes[1], name).toEqual(outcomes[0]);
        const [inPostgres, inMemory] = await twins.halts();
        expect(inMemory, name).toEqual(inPostgres);
        await twins.forget();
      }
    }
  });

  it('with every change of a cancel-all', async () => {
    await using twins = await twinJournals();
    twins.memory.nowMs = () => Date.now();
    const first = newCancelAll();
    const anew = { ...first, cancelAllId: randomUUID() };
    const opens = [
      first,
      anew,
      { ...anew, requestHash: 'other' },
      { ...first, idempotencyKey: 'other' },
      { ...anew, principal: 'other' },
      { ...anew, idempotencyKey: 'free', onLanding: 'keep' as 'leave' },
    ].flatMap((asked) =>
      [fence, fenced(), { ...fence, shard: 1 }].map(
        (under) => (journal: CommandJournal) => journal.openCancelAll(asked, under),
      ),
    );
    const ends = [first.cancelAllId, randomUUID()].flatMap((id) =>
      [fence, fenced()].map((under) => (journal: CommandJournal) => journal.endCancelAll(id, atMs + 9, under)),
    );
    for (const ageMs of [0, 8 * day])
      for (const prior of ['absent', 'in force', 'ended'])
        for (const [i, move] of [...opens, ...ends].entries()) {
          const outcomes = await twins.both(async (journal) => {
            if (prior !== 'absent') await journal.openCancelAll({ ...first, atMs: atMs - ageMs }, fence);
            if (prior === 'ended') await journal.endCancelAll(first.cancelAllId, atMs, fence);
            const outcome = await outcomeOf(() => move(journal));
            const inForce = [await journal.cancelAllsInForce(0), await journal.cancelAllsInForce(1)];
            return { outcome, inForce, found: await journal.findCancelAll(0, 'desk', first.idempotencyKey) };
          });
          expect(outcomes[1], `${prior}, ${ageMs} ms old, move ${i}`).toEqual(outcomes[0]);
          await twins.forget();
        }
  });
});
