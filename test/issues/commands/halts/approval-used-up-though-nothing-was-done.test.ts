// What a user saw: An act that a second person had approved was not done, and its approval was gone.

import { describe, expect, it } from 'vitest';
import { CommandRig, placeEquity, unknown, word } from '../../../support/commands/command-rig.ts';
import { accountScope, service } from '../../../support/commands/journal-fixtures.ts';
import type { JournalOperation } from '../../../support/commands/memory-journal.ts';

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
  'a settlement': {
    operation: 'step',
    needsShard: true,
    ask: async (rig) => {
      rig.entry.scripts.push({ result: unknown });
      const { commandId } = await rig.send(placeEquity);
      await rig.during(rig.commands.operator.settle(commandId, 'rejected', word));
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
    /** Nothing was done for this reason, and the same approval does it once the reason is gone. */
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
    const results = await rig.during(Promise.all(words.map((each) => rig.commands.operator.approve(approvalId, each))));
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

  it('a settlement of a command that was settled meanwhile', async () => {
    const { rig, approve } = await asked(acts['a settlement'] as Act);
    const [command] = rig.journal.commands.values();
    rig.land(command?.commandId ?? '');
    await rig.clock.advance(1_000);
    expect(await approve()).toMatchObject({ code: 'ALREADY_SETTLED', message: expect.stringMatching(/waits still/) });
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
