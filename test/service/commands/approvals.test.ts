import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BoundsChange, LimitScope } from '../../../src/domain/limits.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { Halts } from '../../../src/service/commands/halts.ts';
import { type Approval, mostWaiting } from '../../../src/store/commands/halts-journal.ts';
import { CommandRig, placeEquity, unknown, word } from '../../support/commands/command-rig.ts';
import { accountScope, service } from '../../support/commands/journal-fixtures.ts';
import type { JournalOperation } from '../../support/commands/memory-journal.ts';
import { rigJournal } from '../../support/commands/rig-journal.ts';
import { sampleApproval } from '../../support/commands/scripted-commands.ts';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

describe('issue: An expired request was approved at one instance, and another refused a fresh one.', () => {
  const account = accountScope('acct-1');
  const second = { ...word, by: 'bob', reason: 'agreed' };
  const minuteMs = 60_000;
  const hourMs = 60 * minuteMs;

  /** Halted, and asked to be resumed within the hour, by a process whose clock is `ahead`. */
  async function asked(asking: number) {
    const ahead = { ms: asking };
    const rig = await CommandRig.leading({ fourEyes: true, ahead });
    const { operator } = rig.commands;
    await rig.during(operator.halt(account, word));
    const result = await rig.during(operator.resume(account, word));
    if (result.kind !== 'requested') throw new Error(`no second principal is asked for: ${result.kind}`);
    const { approvalId } = result.approval;
    return {
      /** Later, by a process that is so far ahead: how many wait, what an approval comes to. */
      async approve(afterMs: number, approving: number) {
        await rig.clock.advance(afterMs);
        ahead.ms = approving;
        const list = await rig.during(operator.approvals.list());
        const waiting = list.kind === 'done' ? list.approvals.length : list.code;
        const result = await rig.during(operator.approve(approvalId, second));
        return { waiting, result: result.kind === 'declined' ? result.code : result.kind };
      },
    };
  }

  const offs = [-24 * hourMs, -hourMs, 0, hourMs, 24 * hourMs];
  const pairs = offs.flatMap((asking) => offs.map((approving) => [asking / hourMs, approving / hourMs] as const));

  describe('a request, asked for by a clock so far ahead, and approved by another', () => {
    it.each(pairs)('%i h and %i h: it waits until its hour is over', async (asking, approving) => {
      const request = await asked(asking * hourMs);
      expect(await request.approve(59 * minuteMs, approving * hourMs)).toEqual({ waiting: 1, result: 'done' });
    });

    it.each(pairs)('%i h and %i h: it has ended when its hour is over', async (asking, approving) => {
      const request = await asked(asking * hourMs);
      expect(await request.approve(61 * minuteMs, approving * hourMs)).toEqual({
        waiting: 0,
        result: 'APPROVAL_NOT_FOUND',
      });
    });
  });
});

describe('issue: An act that a second person had approved was not done, and its approval was gone.', () => {
  const account = accountScope('acct-1');
  const second = { ...word, by: 'bob', reason: 'agreed' };

  interface Act {
    readonly operation: JournalOperation;
    /** Only the holder of the shard may do it. */
    readonly needsShard: boolean;
    /** Asks for it, and says whether it took place. */
    readonly ask: (rig: CommandRig) => Promise<() => boolean>;
  }

  async function halted(rig: CommandRig, scope: typeof account): Promise<() => boolean> {
    await rig.during(rig.commands.operator.halt(scope, word));
    await rig.during(rig.commands.operator.resume(scope, word));
    return () => rig.journal.halts.every(({ clearedAtMs }) => clearedAtMs !== undefined);
  }

  const acts: Readonly<Record<string, Act>> = {
    'a resume of an account': { operation: 'clearHalts', needsShard: true, ask: (rig) => halted(rig, account) },
    'a resume of the service': { operation: 'clearHalts', needsShard: true, ask: (rig) => halted(rig, service) },
    'a resolution': {
      operation: 'step',
      needsShard: true,
      ask: async (rig) => {
        rig.entry.scripts.push({ result: unknown });
        const { commandId } = await rig.send(placeEquity);
        await rig.during(rig.commands.operator.resolve(commandId, 'rejected', word));
        return () => rig.state(commandId) === 'rejected';
      },
    },
    'a wider limit': {
      operation: 'changeLimits',
      needsShard: false,
      ask: async (rig) => {
        const { operator } = rig.commands;
        const change = (maxQuantity: string) => operator.changeLimits({ accountId: 'acct-1' }, { maxQuantity }, word);
        await rig.during(change('5'));
        await rig.during(change('6'));
        return () =>
          rig.journal.audits.some(({ action, detail }) => action === 'change_limits' && !!detail?.['approvedBy']);
      },
    },
  };

  const ofShard = Object.entries(acts).filter(([, { needsShard }]) => needsShard);

  async function asked({ ask: askFor }: Act) {
    const rig = await CommandRig.leading({ fourEyes: true });
    const isDone = await askFor(rig);
    const waiting = async () => {
      const result = await rig.during(rig.commands.operator.approvals.list());
      return result.kind === 'done' ? result.approvals.map(({ approvalId }) => approvalId) : [];
    };
    const [approvalId = ''] = await waiting();
    const approve = () => rig.during(rig.commands.operator.approve(approvalId, second));
    return {
      ...{ rig, isDone, approve },
      /**
       * Nothing was done for this reason, and the same approval does it once the reason is gone.
       */
      expectStillGood: async (code: string) => {
        expect(await approve()).toMatchObject({ kind: 'declined', code });
        expect(isDone()).toBe(false);
        expect(await waiting()).toEqual([approvalId]);
        expect(rig.journal.audits.filter(({ action }) => action === 'approve')).toEqual([]);
      },
      expectSpent: async () => {
        expect(isDone()).toBe(true);
        expect(await waiting()).toEqual([]);
        expect(await approve()).toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
        expect(rig.journal.audits.filter(({ action }) => action === 'approve')).toHaveLength(1);
      },
    };
  }

  describe('an approval is spent only by its act', () => {
    it.each(ofShard)('%s: the shard is between two holders', async (_name, act) => {
      const { rig, approve, expectStillGood, expectSpent } = await asked(act);
      rig.commands.end(0);
      await expectStillGood('NOT_LEADER');
      await rig.begin(2n);
      expect(await approve()).toMatchObject({ kind: 'done' });
      await expectSpent();
    });

    it.each(ofShard)('%s: another holder took the shard before the act was written', async (_name, act) => {
      const { rig, approve, expectStillGood, expectSpent } = await asked(act);
      rig.journal.force('update shards set epoch = 2');
      await expectStillGood('NOT_LEADER');
      await rig.begin(3n);
      expect(await approve()).toMatchObject({ kind: 'done' });
      await expectSpent();
    });

    it.each(Object.entries(acts))('%s: the database did not take it', async (_name, act) => {
      const { rig, approve, expectStillGood, expectSpent } = await asked(act);
      const { hook } = rig.journal;
      rig.journal.hook = (operation, transact) =>
        operation === act.operation ? Promise.reject(new Error('it is away')) : hook(operation, transact);
      await expectStillGood('STORE_UNAVAILABLE');
      rig.journal.hook = hook;
      expect(await approve()).toMatchObject({ kind: 'done' });
      await expectSpent();
    });

    it.each(Object.entries(acts))('%s: it took place, and its answer was lost', async (_name, act) => {
      const { rig, approve, expectSpent } = await asked(act);
      const { hook } = rig.journal;
      rig.journal.hook = async (operation, transact) => {
        const result = await hook(operation, transact);
        if (operation === act.operation) throw new Error('the answer was lost');
        return result;
      };
      expect(await approve()).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/waits still where/),
      });
      rig.journal.hook = hook;
      await expectSpent();
    });

    it.each(Object.entries(acts))('%s: two approve it at once, and it is done once', async (_name, act) => {
      const { rig, expectSpent } = await asked(act);
      const [{ approvalId = '' } = {}] = await rig.journal.approvals();
      const words = ['bob', 'carl'].map((by) => ({ ...second, by }));
      const results = await rig.during(
        Promise.all(words.map((each) => rig.commands.operator.approve(approvalId, each))),
      );
      expect(results.map((each) => (each.kind === 'done' ? each.kind : each.code)).sort()).toEqual([
        'APPROVAL_NOT_FOUND',
        'done',
      ]);
      await expectSpent();
    });

    it('a resume that the words of both do not cover', async () => {
      const { rig, expectStillGood } = await asked(acts['a resume of an account'] as Act);
      const { operator } = rig.commands;
      const approve = operator.approve.bind(operator);
      operator.approve = (id, said) => approve(id, { ...said, ofSomeAccounts: true });
      await expectStillGood('EVERY_ACCOUNT_NEEDED');
    });

    it('a resolution of a command that was resolved meanwhile', async () => {
      const { rig, approve } = await asked(acts['a resolution'] as Act);
      const [command] = rig.journal.commands.values();
      rig.land(command?.commandId ?? '');
      await rig.clock.advance(1_000);
      expect(await approve()).toMatchObject({
        code: 'ALREADY_RESOLVED',
        message: expect.stringMatching(/waits still/),
      });
      expect(rig.journal.audits.filter(({ action }) => action === 'approve')).toEqual([]);
    });

    it('a limit that others change each time before it is written', async () => {
      const { rig, expectStillGood, approve, expectSpent } = await asked(acts['a wider limit'] as Act);
      const changeLimits = rig.journal.changeLimits.bind(rig.journal);
      let bound = 4;
      rig.journal.changeLimits = async (change) => {
        const [row] = await rig.journal.limits();
        bound -= 0.5;
        const { approval: _none, ...alone } = change;
        const bounds = { maxQuantity: String(bound) };
        await changeLimits({ ...alone, by: 'carl', before: row?.bounds ?? {}, bounds });
        return changeLimits(change);
      };
      await expectStillGood('STORE_UNAVAILABLE');
      rig.journal.changeLimits = changeLimits;
      expect(await approve()).toMatchObject({ kind: 'done' });
      await expectSpent();
    });

    it('a limit that is as it was asked for already: its approval is spent, and widens nothing later', async () => {
      const { rig, approve, expectSpent } = await asked(acts['a wider limit'] as Act);
      const { limits, changeLimits } = rig.journal;
      const [row] = await limits.call(rig.journal);
      const said = { ...word, atMs: rig.clock.nowMs(), accountId: 'acct-1' };
      await changeLimits.call(rig.journal, { ...said, before: row?.bounds ?? {}, bounds: { maxQuantity: '6' } });
      expect(await approve()).toMatchObject({ kind: 'done' });
      await expectSpent();
    });
  });
});

describe('issue: A thousand requests of one principal made it impossible to approve those of others.', () => {
  const flooding = { ...word, by: 'other', ofSomeAccounts: true } as const;
  const second = { ...word, by: 'bob', reason: 'agreed' };

  it('the requests of one principal, equal or not, stand in the way of no other', async () => {
    const rig = await CommandRig.leading({ fourEyes: true });
    const resume = (accountId: string, by: typeof flooding | typeof word) =>
      rig.during(rig.commands.operator.resume(accountScope(accountId), by));
    const ids = new Set<string>();
    for (let at = 0; at < 25; at += 1) {
      const result = await resume('acct-2', flooding);
      if (result.kind === 'requested') ids.add(result.approval.approvalId);
    }
    expect(ids.size).toBe(1);
    for (let at = 1; at < mostWaiting; at += 1)
      expect(await resume(`acct-${at}-more`, flooding)).toMatchObject({ kind: 'requested' });
    expect(await resume('acct-3', flooding)).toMatchObject({ kind: 'declined', code: 'TOO_MANY_APPROVALS' });
    expect(await resume('acct-2', flooding)).toMatchObject({ kind: 'requested' });

    const asked = await resume('acct-1', word);
    if (asked.kind !== 'requested') throw new Error('the request was refused');
    const { approvalId } = asked.approval;
    expect(await rig.during(rig.commands.operator.approvals.find(approvalId))).toMatchObject({
      approvals: [{ approvalId }],
    });
    expect(await rig.during(rig.commands.operator.approve(approvalId, second))).toMatchObject({ kind: 'done' });
    expect(await rig.during(rig.commands.operator.approvals.list())).toMatchObject({
      approvals: { length: mostWaiting },
    });
  });
});

describe('issue: A token for one account could lift a halt that an operator for all accounts had set.', () => {
  const account = accountScope('acct-1');
  const ofOneAccount = { ...word, by: 'strategy', ofSomeAccounts: true } as const;

  /**
   * Who may resume an account could lift what operations had halted there for every account's sake:
   * `resume` cleared every halt of the account, whoever had raised it.
   */
  describe('a halt by an operator for every account', () => {
    it('is not lifted by a token that names some, nor is what stands beside it', async () => {
      const rig = await CommandRig.leading();
      await rig.during(rig.commands.operator.halt(account, ofOneAccount));
      await rig.during(rig.commands.operator.halt(account, word));
      expect(await rig.during(rig.commands.operator.resume(account, ofOneAccount))).toMatchObject({
        kind: 'declined',
        code: 'EVERY_ACCOUNT_NEEDED',
      });
      expect(rig.commands.operator.halts.list().map(({ cause, by }) => [cause, by])).toEqual([
        ['account_operator', 'strategy'],
        ['operator', 'olga'],
      ]);
      expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
      expect(await rig.during(rig.commands.operator.resume(account, word))).toEqual({ kind: 'done', halts: [] });
    });

    it('holds also where another process has raised it and this one has not heard of it', async () => {
      const rig = await CommandRig.leading();
      const halt = { haltId: 'h-1', scope: account, cause: 'operator', reason: 'elsewhere', by: 'ann', sinceMs: 0 };
      await rig.journal.raiseHalt(halt);
      expect(await rig.during(rig.commands.operator.resume(account, ofOneAccount))).toMatchObject({
        code: 'EVERY_ACCOUNT_NEEDED',
      });
      expect(await rig.journal.activeHalts()).toEqual([halt]);
    });

    it('holds also where the journal does not have it yet', async () => {
      const rig = await CommandRig.leading();
      const { raiseHalt } = rig.journal;
      rig.journal.raiseHalt = async () => {
        throw new Error('the database cannot be reached');
      };
      await rig.during(rig.commands.operator.halt(account, word));
      expect(await rig.during(rig.commands.operator.resume(account, ofOneAccount))).toMatchObject({
        code: 'EVERY_ACCOUNT_NEEDED',
      });
      rig.journal.raiseHalt = raiseHalt;
      expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'operator', by: 'olga' }]);
      expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
    });

    it('leaves to a token of one account what it has halted itself, and what the service has', async () => {
      const rig = await CommandRig.leading();
      await rig.during(rig.commands.operator.halt(account, ofOneAccount));
      await rig.journal.raiseHalt({
        haltId: 'h-2',
        scope: account,
        cause: 'rate',
        reason: 'fast',
        by: 'tidemark',
        sinceMs: 0,
      });
      expect(await rig.during(rig.commands.operator.resume(account, ofOneAccount))).toEqual({
        kind: 'done',
        halts: [],
      });
      expect(await rig.journal.activeHalts()).toEqual([]);
    });
  });

  describe('the word of an operator', () => {
    let rest: Awaited<ReturnType<typeof startRest>>;
    beforeEach(async () => {
      const scopes = ['ops:write'];
      const tokens = [
        { name: 'desk', sha256: sha256('every'), scopes, accounts: 'all' as const },
        { name: 'one', sha256: sha256('some'), scopes, accounts: ['acct-1'] },
      ];
      rest = await startRest({ auth: { tokens } });
    });
    afterEach(() => rest.server.drain(new AbortController().signal));

    it('says whether the token is for every account', async () => {
      for (const token of ['every', 'some']) {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        await ask(`${rest.address}/v1/accounts/acct-1/resume`, {
          method: 'POST',
          headers,
          body: '{"reason":"checked"}',
        });
      }
      expect(rest.commands.words.map((said) => said.word.ofSomeAccounts)).toEqual([undefined, true]);
      rest.commands.haltAnswer = { kind: 'declined', code: 'EVERY_ACCOUNT_NEEDED', message: 'kept' };
      const headers = { authorization: 'Bearer some', 'content-type': 'application/json' };
      const answer = await ask(`${rest.address}/v1/accounts/acct-1/resume`, {
        method: 'POST',
        headers,
        body: '{"reason":"checked"}',
      });
      expect([answer.status, answer.body['code']]).toEqual([403, 'EVERY_ACCOUNT_NEEDED']);
    });
  });
});

describe('issue: A new halt of an account was lost because a person was clearing its old halt just then.', () => {
  const account = { kind: 'account', accountId: 'A' } as const;
  const word = { by: 'olga', reason: 'the late order is cancelled', requestId: 'r' };
  const again = (order: string) => ({ by: 'desk', reason: `order ${order} landed late` });

  /** Halts over a journal whose `clearHalts` waits, before it does anything or after. */
  async function rigOf(slow: 'before' | 'after') {
    const clock = new VirtualClock();
    const journal = rigJournal(clock);
    const term = { fence: { shard: 0, epoch: 1n }, over: new AbortController().signal };
    await journal.takeOver(term.fence, 0, 0);
    const deps = { journal, clock, random: seededRandom(1), log: silentLog, metrics: createMetrics().commands };
    const halts = new Halts(deps);
    const gate = Promise.withResolvers<void>();
    journal.hook = async (operation, transact) => {
      if (operation !== 'clearHalts') return transact();
      if (slow === 'before') await gate.promise;
      const result = await transact();
      if (slow === 'after') await gate.promise;
      return result;
    };
    const raise = (order: string) => halts.raise(account, 'operator', again(order));
    const after = new Halts(deps);
    return {
      journal,
      halts,
      raise,
      clear: (scope: typeof account | typeof service = account) => halts.clear(scope, word, term),
      open: () => gate.resolve(),
      fail: () => gate.reject(new Error('away')),
      resolve: () => clock.advance(10),
      /** What a process has that reads the journal now. */
      async afterRestart() {
        await after.refresh();
        return after.list();
      },
    };
  }

  it('a halt raised behind the commit that clears another holds when the answer to that comes', async () => {
    const rig = await rigOf('after');
    await rig.raise('1');
    const cleared = rig.clear();
    await rig.resolve();
    expect(await rig.raise('2')).toMatchObject(again('2'));
    rig.open();
    expect(await cleared).toBe('cleared');
    expect(rig.halts.list()).toMatchObject([again('2')]);
    expect(await rig.afterRestart()).toMatchObject([again('2')]);
  });

  it('one that the journal took before that commit is cleared by it, in memory too', async () => {
    const rig = await rigOf('before');
    const first = rig.raise('1');
    const cleared = rig.clear();
    const second = rig.raise('2');
    rig.open();
    await Promise.all([first, cleared, second]);
    expect(rig.halts.list()).toEqual([]);
    expect(await rig.afterRestart()).toEqual([]);
  });

  it('a clear that fails leaves one halt, in memory as in the journal', async () => {
    const rig = await rigOf('before');
    const first = await rig.raise('1');
    const cleared = rig.clear();
    const second = rig.raise('2');
    await rig.resolve();
    rig.fail();
    await expect(cleared).rejects.toThrow('away');
    expect(await second).toEqual(first);
    expect(rig.halts.list()).toEqual([first]);
    expect(await rig.afterRestart()).toEqual([first]);
  });

  it('a slow clear of one scope holds up no other', async () => {
    const rig = await rigOf('before');
    const cleared = rig.clear(service);
    expect(await rig.raise('1')).toMatchObject(again('1'));
    rig.open();
    expect(await cleared).toBe('cleared');
    expect(rig.halts.list()).toMatchObject([again('1')]);
  });
});

describe('issue: One person alone could end a halt, resolve a command or raise a limit.', () => {
  const account = accountScope('acct-1');
  const second = { ...word, by: 'bob', reason: 'agreed' };

  async function waiting(rig: CommandRig): Promise<Approval> {
    const result = await rig.during(rig.commands.operator.approvals.list());
    const [first] = result.kind === 'done' ? result.approvals : [];
    if (first === undefined) throw new Error('nothing waits');
    return first;
  }

  describe('with four eyes', () => {
    it('a resume waits for a second principal, and is done once that has approved it', async () => {
      const rig = await CommandRig.leading({ fourEyes: true });
      await rig.during(rig.commands.operator.halt(account, word));
      expect(await rig.during(rig.commands.operator.resume(account, word))).toMatchObject({ kind: 'requested' });
      expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
      const { approvalId } = await waiting(rig);
      expect(await rig.during(rig.commands.operator.approve(approvalId, word))).toMatchObject({
        code: 'SECOND_PRINCIPAL_NEEDED',
      });
      expect(await rig.during(rig.commands.operator.approve(approvalId, second))).toMatchObject({ kind: 'done' });
      expect(rig.commands.operator.halts.list()).toEqual([]);
      expect(await rig.during(rig.commands.operator.approve(approvalId, second))).toMatchObject({
        code: 'APPROVAL_NOT_FOUND',
      });
      await rig.clock.advance(10);
      expect(
        rig.journal.audits.map(({ action, principal, detail }) => [action, principal, detail?.['approvedBy']]),
      ).toEqual([
        ['halt', 'olga', undefined],
        ['request_approval', 'olga', undefined],
        ['approve', 'bob', undefined],
        ['resume', 'olga', 'bob'],
      ]);
    });

    it('a resolution waits for a second principal', async () => {
      const rig = await CommandRig.leading({ fourEyes: true });
      rig.entry.scripts.push({ result: unknown });
      const { commandId } = await rig.send(placeEquity);
      expect(await rig.during(rig.commands.operator.resolve(commandId, 'rejected', word))).toMatchObject({
        kind: 'requested',
      });
      expect(rig.state(commandId)).toBe('unknown');
      const { approvalId, accountId } = await waiting(rig);
      expect(accountId).toBe('acct-1');
      expect(await rig.during(rig.commands.operator.approve(approvalId, second))).toMatchObject({ kind: 'done' });
      expect(rig.state(commandId)).toBe('rejected');
    });

    it('a limit that lets more through waits for a second principal, one that lets less through does not', async () => {
      const rig = await CommandRig.leading({ fourEyes: true });
      const change = (bounds: object) =>
        rig.during(rig.commands.operator.changeLimits({ accountId: 'acct-1' }, bounds, word));
      expect(await change({ maxQuantity: '5', allowedSymbols: ['AAPL'] })).toMatchObject({ kind: 'done' });
      expect(await change({ maxQuantity: '4' })).toMatchObject({ kind: 'done' });
      for (const looser of [{ maxQuantity: '5' }, { maxQuantity: null }, { allowedSymbols: ['AAPL', 'MSFT'] }]) {
        expect(await change(looser), JSON.stringify(looser)).toMatchObject({ kind: 'requested' });
        await rig.clock.advance(1);
      }
      expect(await rig.declined(placeEquity)).toBe('LIMIT_EXCEEDED');
      const { approvalId } = await waiting(rig);
      expect(await rig.during(rig.commands.operator.approve(approvalId, second))).toMatchObject({ kind: 'done' });
      expect(await rig.journal.limits()).toMatchObject([
        { bounds: { maxQuantity: '5', allowedSymbols: ['AAPL'] }, changedBy: 'olga' },
      ]);
    });

    it('a request that nobody has approved within the hour is gone', async () => {
      const rig = await CommandRig.leading({ fourEyes: true });
      await rig.during(rig.commands.operator.resume(account, word));
      const { approvalId } = await waiting(rig);
      await rig.clock.advance(3_600_000);
      expect(await rig.during(rig.commands.operator.approvals.list())).toEqual({ kind: 'done', approvals: [] });
      expect(await rig.during(rig.commands.operator.approve(approvalId, second))).toMatchObject({
        code: 'APPROVAL_NOT_FOUND',
      });
    });

    it('without them, everything is done at once', async () => {
      const rig = await CommandRig.leading();
      await rig.during(rig.commands.operator.halt(account, word));
      expect(await rig.during(rig.commands.operator.resume(account, word))).toEqual({ kind: 'done', halts: [] });
      expect(await rig.during(rig.commands.operator.approvals.list())).toEqual({ kind: 'done', approvals: [] });
    });
  });

  describe('approvals over REST', () => {
    let rest: Awaited<ReturnType<typeof startRest>>;
    beforeEach(async () => {
      const scopes = ['ops:read', 'ops:write'];
      const tokens = [
        { name: 'desk', sha256: sha256('every'), scopes, accounts: 'all' as const },
        { name: 'one', sha256: sha256('some'), scopes, accounts: ['ACC-1'] },
      ];
      rest = await startRest({ auth: { tokens } });
    });
    afterEach(() => rest.server.drain(new AbortController().signal));

    const send = (path: string, token: string, body?: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      return ask(`${rest.address}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers,
        ...(body && { body: JSON.stringify(body) }),
      });
    };

    it('show a token of some accounts what concerns those, and let it approve no more', async () => {
      const { accountId: _none, ...ofService } = {
        ...sampleApproval,
        approvalId: '1c2f5f9e-8f43-4c1c-9d0a-5b1f3e0f6a22',
      };
      rest.commands.waiting = [sampleApproval, ofService];
      const shown = {
        requestedAt: '1970-01-01T00:00:00.000Z',
        expiresAt: '1970-01-01T01:00:00.000Z',
        by: 'ann',
        accountId: 'ACC-1',
      };
      expect((await send('/v1/approvals', 'some')).body).toMatchObject({ items: [shown] });
      expect((await send('/v1/approvals', 'every')).body['items']).toHaveLength(2);
      const approve = (id: string, token: string) => send(`/v1/approvals/${id}/approve`, token, { reason: 'agreed' });
      expect(await approve(ofService.approvalId, 'some')).toMatchObject({
        status: 404,
        body: { code: 'APPROVAL_NOT_FOUND' },
      });
      expect(rest.commands.words).toEqual([]);
      expect(await approve(sampleApproval.approvalId, 'some')).toMatchObject({ status: 200 });
      expect(rest.commands.words).toMatchObject([{ what: 'approve', word: { by: 'one', reason: 'agreed' } }]);
    });

    it('answer 202 where the action waits', async () => {
      rest.commands.haltAnswer = { kind: 'requested', approval: sampleApproval };
      const { status, body } = await send('/v1/resume', 'every', { reason: 'checked' });
      expect([status, body]).toMatchObject([202, { approval: { approvalId: sampleApproval.approvalId, by: 'ann' } }]);
    });
  });
});

describe('issue: One person alone could open a real account with first limits as wide as that person liked.', () => {
  const second = { ...word, by: 'bob', reason: 'agreed' };
  const wide = { maxQuantity: '999999999', maxNotional: '999999999999', ordersPerMinute: 1_000_000 };

  async function realRig() {
    const rig = await CommandRig.leading({ fourEyes: true, accounts: ['acct-1'] });
    rig.probes.now = { ...rig.probes.now, isSim: false };
    const change = (scope: LimitScope, bounds: BoundsChange) =>
      rig.during(rig.commands.operator.changeLimits(scope, bounds, word));
    const approveAll = async () => {
      const waiting = await rig.during(rig.commands.operator.approvals.list());
      if (waiting.kind !== 'done') throw new Error(waiting.message);
      for (const { approvalId } of waiting.approvals)
        expect(await rig.during(rig.commands.operator.approve(approvalId, second))).toMatchObject({ kind: 'done' });
      return waiting.approvals.length;
    };
    return { rig, change, approveAll };
  }

  /**
   * A real account takes no order until it has limits, and the first ones needed no second
   * principal: one person opened it, as wide as it liked.
   */
  describe('the first limits of a real account, with four eyes', () => {
    it.each<[string, LimitScope]>([
      ['account', { accountId: 'acct-1' }],
      ['everyone', {}],
      ['principal', { principal: 'desk' }],
      ['principal on the account', { principal: 'desk', accountId: 'acct-1' }],
    ])('wait for a second principal as a row of the %s', async (_what, scope) => {
      const { rig, change, approveAll } = await realRig();
      expect(await rig.declined(placeEquity)).toBe('LIMITS_REQUIRED');
      expect(await change(scope, wide)).toMatchObject({ kind: 'requested' });
      expect(await rig.declined(placeEquity)).toBe('LIMITS_REQUIRED');
      expect(await approveAll()).toBe(1);
      expect((await rig.send(placeEquity)).state).toBe('accepted');
    });

    it('wait one by one too: the last alone would show the second principal none of the others', async () => {
      const { change } = await realRig();
      for (const bounds of [{ maxQuantity: '9' }, { maxNotional: '9' }, { ordersPerMinute: 9 }])
        expect(await change({ accountId: 'acct-1' }, bounds), JSON.stringify(bounds)).toMatchObject({
          kind: 'requested',
        });
    });

    it('do not wait where a wider row has these bounds already, nor for a bound that opens nothing', async () => {
      const { change, approveAll } = await realRig();
      await change({}, wide);
      await approveAll();
      expect(await change({ accountId: 'acct-1' }, { maxQuantity: '5', maxNotional: '9' })).toMatchObject({
        kind: 'done',
      });
      expect(await change({ accountId: 'acct-2' }, { forbiddenSymbols: ['AAPL'], maxOpenOrders: 1 })).toMatchObject({
        kind: 'done',
      });
    });

    it('wait where the account is not known, and not where it is known to be simulated', async () => {
      const { rig, change } = await realRig();
      rig.probes.now = { ...rig.probes.now, isSim: true, known: false };
      expect(await change({ accountId: 'acct-1' }, wide)).toMatchObject({ kind: 'requested' });
      rig.probes.now = { ...rig.probes.now, known: true };
      expect(await change({ accountId: 'acct-1' }, wide)).toMatchObject({ kind: 'done' });
    });
  });

  describe('a resume, with four eyes', () => {
    it('that a token of some accounts has asked for lifts no halt for every account, whoever approves it', async () => {
      const rig = await CommandRig.leading({ fourEyes: true });
      const scope = { kind: 'account', accountId: 'acct-1' } as const;
      await rig.during(rig.commands.operator.halt(scope, word));
      expect(await rig.during(rig.commands.operator.resume(scope, { ...word, ofSomeAccounts: true }))).toMatchObject({
        kind: 'requested',
      });
      const waiting = await rig.during(rig.commands.operator.approvals.list());
      const [asked] = waiting.kind === 'done' ? waiting.approvals : [];
      expect(await rig.during(rig.commands.operator.approve(asked?.approvalId ?? '', second))).toMatchObject({
        code: 'EVERY_ACCOUNT_NEEDED',
      });
      expect(rig.commands.operator.halts.list()).toHaveLength(1);
    });
  });
});
