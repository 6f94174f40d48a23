// What a user saw: A place waited for three commits of the database before it had its answer.

import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import {
  accepted,
  CommandRig,
  cancelWorking,
  placeEquity,
  replaceWorking,
  unknown,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';
import type { JournalOperation } from '../../support/commands/memory-journal.ts';

const minute = 60_000;
const writing: ReadonlySet<JournalOperation> = new Set(['open', 'markSending', 'step']);

/** The commits that a command's callers waited for, in their order. */
function commitsOf(rig: CommandRig): JournalOperation[] {
  const commits: JournalOperation[] = [];
  rig.journal.hook = async (operation, transact) => {
    const answer = await transact();
    if (writing.has(operation)) commits.push(operation);
    return answer;
  };
  return commits;
}

/** Connections that were begun. */
function countConnections(rig: CommandRig): () => number {
  let begun = 0;
  rig.entry.route = () => {
    begun += 1;
    return undefined;
  };
  return () => begun;
}

function place(qty: number): CommandRequest {
  return { ...placeEquity, terms: { ...placeEquity.terms, qty: String(qty) } };
}

describe('a command whose connection is there in time', () => {
  it.each([
    ['place', placeEquity],
    ['cancel', cancelWorking],
  ] as const)('is opened as sending and answered: a %s takes two commits', async (_kind, request) => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    const commits = commitsOf(rig);
    let atWrite: unknown;
    rig.entry.onWrite = ({ attemptId }) => {
      atWrite = rig.journal.ofAttempt(attemptId)?.attempts[0]?.state;
    };
    const command = await rig.send(request);
    expect(command.state).toBe('accepted');
    expect(atWrite).toBe('sending');
    expect(commits).toEqual(['open', 'step']);
    expect(rig.codes(command.commandId)).toEqual(['sending', 'accepted']);
  });

  it('holds up no other command of its account while it connects', async () => {
    const rig = await CommandRig.leading();
    rig.entry.route = () => ({ connect: { ms: 150 }, result: accepted });
    const commits = commitsOf(rig);
    const asked = Array.from({ length: 20 }, (_, i) => rig.commands.submit(rig.submission(place(i + 1))));
    await rig.during(Promise.all(asked));
    expect(Math.max(...rig.entry.sent.map(({ atMs }) => atMs))).toBeLessThan(160);
    expect(commits).not.toContain('markSending');
  });
});

describe('a command is journaled as prepared first', () => {
  it('where its connection takes long, so that its key is known soon', async () => {
    const rig = await CommandRig.leading();
    const commits = commitsOf(rig);
    rig.entry.scripts.push({ connect: { ms: 1_000 }, result: accepted });
    const asked = rig.commands.submit(rig.submission(placeEquity, { idempotencyKey: 'k' }));
    await rig.clock.advance(250);
    expect([...rig.journal.commands.values()].map(({ attempts }) => attempts[0]?.state)).toEqual(['prepared']);
    expect(await rig.submit(placeEquity, { idempotencyKey: 'k' })).toMatchObject({ replayed: true });
    expect(await rig.during(asked)).toMatchObject({ command: { state: 'accepted' } });
    expect(commits).toEqual(['open', 'markSending', 'step']);
  });

  it('where something that forbids is being written, and is sent if that is not about it', async () => {
    const rig = await CommandRig.leading();
    const commits = commitsOf(rig);
    // As Postgres opens it beside a halt of another account that is not committed.
    const { open } = rig.journal;
    rig.journal.open = ({ sendingAtMs: _none, ...prepared }, fence) => open(prepared, fence);
    const command = await rig.send(placeEquity);
    expect(command.state).toBe('accepted');
    expect(rig.codes(command.commandId)).toEqual(['prepared', 'sending', 'accepted']);
    expect(commits).toEqual(['open', 'markSending', 'step']);
  });

  it('where no connection is made at all', async () => {
    const rig = await CommandRig.leading();
    const result = { kind: 'not_sent', reason: { code: 'NO_CREDENTIAL', message: 'none' }, mayRepeat: false } as const;
    rig.entry.scripts.push({ connect: { result }, result });
    const commits = commitsOf(rig);
    expect(await rig.send(placeEquity)).toMatchObject({ state: 'not_sent', reason: { code: 'NO_CREDENTIAL' } });
    expect(commits).toEqual(['open', 'step']);
  });

  it('where a cancel waits for an earlier one of its order', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.entry.scripts.push({ result: accepted, answerMs: 1_000 });
    const first = rig.commands.submit(rig.submission(cancelWorking));
    await rig.clock.advance(10);
    const second = rig.commands.submit(rig.submission(cancelWorking));
    await rig.clock.advance(10);
    const states = [...rig.journal.commands.values()].map(({ attempts }) => attempts[0]?.state);
    expect(states).toEqual(['sending', 'prepared']);
    await rig.during(Promise.all([first, second]));
    expect(rig.entry.sent).toHaveLength(2);
  });

  it('where another process has halted its account, and is not sent', async () => {
    const rig = await CommandRig.leading();
    const other = await CommandRig.leading({ shards: [1] }, rig);
    rig.entry.scripts.push({ connect: { ms: 50 }, result: accepted });
    const asked = rig.commands.submit(rig.submission(placeEquity));
    await rig.clock.advance(20);
    await rig.during(other.commands.operator.halt({ kind: 'account', accountId: 'acct-1' }, word));
    expect(await rig.during(asked)).toMatchObject({
      command: { state: 'not_sent', reason: { code: 'PLACING_HALTED' }, attempts: [{ state: 'not_sent' }] },
    });
    expect(rig.entry.sent).toEqual([]);
  });
});

describe('an opening whose answer was lost', () => {
  /** What is opened commits after its caller has given up, at this time. */
  function losing(rig: CommandRig) {
    let commits: () => Promise<unknown> = async () => undefined;
    rig.journal.hook = async (operation, transact) => {
      if (operation !== 'open') return transact();
      commits = transact;
      throw new Error('the answer was lost');
    };
    return () => {
      rig.journal.hook = async (_operation, transact) => transact();
      return commits();
    };
  }

  it('permits no write: what is found later as sending was not sent, and its process says so', async () => {
    const rig = await CommandRig.leading();
    const commit = losing(rig);
    expect(await rig.declined(placeEquity)).toBe('STORE_UNAVAILABLE');
    await commit();
    const [command] = rig.journal.commands.values();
    expect(command?.attempts[0]?.state).toBe('sending');
    await rig.clock.advance(minute);
    expect(rig.state(command?.commandId ?? '')).toBe('not_sent');
    expect(rig.entry.sent).toEqual([]);
  });

  it('is settled so too when the database is away for an hour in between', async () => {
    const rig = await CommandRig.leading();
    const commit = losing(rig);
    await rig.declined(placeEquity);
    await commit();
    rig.journal.hook = async () => {
      throw new Error('no database');
    };
    await rig.clock.advance(60 * minute);
    rig.journal.hook = async (_operation, transact) => transact();
    await rig.clock.advance(minute);
    expect([...rig.journal.commands.values()].map(({ state }) => state)).toEqual(['not_sent']);
  });

  it('leaves a doubt to the next holder, which sends nothing and looks for it', async () => {
    const rig = await CommandRig.leading();
    const commit = losing(rig);
    await rig.declined(placeEquity);
    await commit();
    rig.commands.endAll();
    const next = await CommandRig.leading({}, rig);
    const [command] = rig.journal.commands.values();
    expect(command?.state).toBe('unknown');
    await rig.clock.advance(minute);
    expect(next.entry.sent).toEqual([]);
    expect(next.probes.asked.length).toBeGreaterThan(0);
  });

  // What another replace of the order came to would settle it (seed 1028 of the simulator).
  it('of a replace leaves no doubt: it was not sent', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    const commit = losing(rig);
    expect(await rig.declined(replaceWorking)).toBe('STORE_UNAVAILABLE');
    await commit();
    rig.commands.endAll();
    const next = await CommandRig.leading({}, rig);
    expect([...rig.journal.commands.values()].map(({ state }) => state)).toEqual(['not_sent']);
    await rig.clock.advance(minute);
    expect(next.entry.sent).toEqual([]);
  });

  it('keeps no token of the budget', async () => {
    const rig = await CommandRig.leading({ rate: { perSecond: 0.001, burst: 2 } });
    losing(rig);
    for (let i = 1; i <= 5; i += 1) expect(await rig.declined(place(i))).toBe('STORE_UNAVAILABLE');
    expect(rig.commands.placeBudget.allowance('acct-1')).toMatchObject({ limit: 2, remaining: 2 });
  });
});

describe('one key', () => {
  it('at once in two processes is opened by one, and the other writes nothing', async () => {
    const rig = await CommandRig.leading({ shards: [0] });
    const other = await CommandRig.leading({ shards: [1] }, rig);
    const results = await rig.during(
      Promise.all(
        [rig, other].map((each) => each.commands.submit(each.submission(placeEquity, { idempotencyKey: 'k' }))),
      ),
    );
    expect(results.map((result) => result.kind === 'journaled' && result.replayed).sort()).toEqual([false, true]);
    expect(rig.entry.sent.length + other.entry.sent.length).toBe(1);
  });

  it('of a command that is not over makes no connection', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: unknown });
    await rig.send(placeEquity, { idempotencyKey: 'k' });
    const connections = countConnections(rig);
    for (let i = 0; i < 3; i += 1)
      expect(await rig.submit(placeEquity, { idempotencyKey: 'k' })).toMatchObject({ replayed: true });
    expect(await rig.declined(place(99), { idempotencyKey: 'k' })).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(connections()).toBe(0);
  });

  it('a command that its checks decline makes none either', async () => {
    const rig = await CommandRig.leading();
    const connections = countConnections(rig);
    await rig.during(rig.commands.operator.halt({ kind: 'service' }, word));
    expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
    expect(connections()).toBe(0);
  });
});
