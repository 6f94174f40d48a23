// What a user saw: A place for an account shown as live was declined, though its process took commands soon.

import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { HeldShards } from '../../../src/service/fleet/held-shards.ts';
import { ShardTaker } from '../../../src/service/fleet/shard-taker.ts';
import { ShardWork } from '../../../src/service/fleet/shard-work.ts';
import type { ShardStore } from '../../../src/store/fleet/shard-store.ts';
import { CommandRig, cancelWorking, placeEquity, replaceWorking, word } from '../../support/commands/command-rig.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

const never = new AbortController().signal;
const placing = placeEquity satisfies { kind: 'place' };
const ofAll = { kind: 'service', accountIds: ['acct-1'] } as const;

/** Every kind of request that only the holder of a shard can carry out. */
const requests: Record<string, (rig: CommandRig) => Promise<unknown>> = {
  place: (rig) => rig.commands.submit(rig.submission(placeEquity)),
  replace: (rig) => rig.commands.submit(rig.submission(replaceWorking)),
  cancel: (rig) => rig.commands.submit(rig.submission(cancelWorking)),
  preview: (rig) => rig.commands.preview({ principal: 'desk', requestId: 'r', request: placing }),
  'cancel-all of an account': (rig) =>
    rig.commands.cancelAll({ kind: 'account', accountId: 'acct-1' }, { ...word, idempotencyKey: 'one' }),
  'cancel-all of every account': (rig) => rig.commands.cancelAll(ofAll, { ...word, idempotencyKey: 'all' }),
  'cancel-all of no account': (rig) =>
    rig.commands.cancelAll({ kind: 'service', accountIds: [] }, { ...word, idempotencyKey: 'none' }),
  'cancel-after': (rig) =>
    rig.commands.cancelAfter({ principal: 'desk', afterMs: 30_000, accountIds: ['acct-1'], requestId: 'r' }),
  'reconcile of an account': (rig) => rig.commands.reconcile({ accountId: 'acct-1', dryRun: true }),
  'reconcile of every account': (rig) => rig.commands.reconcile({ dryRun: true }),
  settle: async (rig) => {
    const [commandId = ''] = rig.journal.commands.keys();
    return rig.commands.operator.settle(commandId, 'rejected', word);
  },
  'resume of an account': (rig) => rig.commands.operator.resume({ kind: 'account', accountId: 'acct-1' }, word),
  'resume of every account': (rig) => rig.commands.operator.resume({ kind: 'service' }, word),
};

/** A process that holds the shard of the account, and has not taken its commands over. */
async function takingOver() {
  const before = await CommandRig.leading();
  await before.send(placeEquity);
  before.commands.end(0);
  const rig = new CommandRig({}, before);
  rig.lease.confirm(2n, rig.clock.monotonicMs());
  rig.commands.expect(0);
  return rig;
}

/** What the request comes to, with the time that its caller waited. */
function asked(rig: CommandRig, ask: (rig: CommandRig) => Promise<unknown>) {
  const beganMs = rig.clock.monotonicMs();
  const answer: { code?: string | undefined; afterMs?: number } = {};
  void ask(rig).then((result) => {
    const { code, declined } = result as { code?: string; declined?: readonly { code: string }[] };
    answer.code = code ?? declined?.[0]?.code;
    answer.afterMs = rig.clock.monotonicMs() - beganMs;
  });
  return answer;
}

describe('a request in the moments in which its shard is taken over', () => {
  it.each(Object.entries(requests))('waits for that: %s', async (_kind, ask) => {
    const rig = await takingOver();
    const answer = asked(rig, ask);
    await rig.clock.advance(2_000);
    expect(answer.afterMs).toBeUndefined();
    await rig.during(rig.commands.begin({ shard: 0, epoch: 2n }));
    await rig.clock.advance(1_000);
    expect(answer.afterMs).toBeGreaterThanOrEqual(2_000);
    expect(answer.code).not.toBe('NOT_LEADER');
  });

  it('waits while the journal can not be read, and no longer than 3.6 s', async () => {
    const rig = await takingOver();
    rig.journal.hook = async () => {
      throw new Error('no database');
    };
    await expect(rig.commands.begin({ shard: 0, epoch: 2n })).rejects.toThrow('no database');
    rig.journal.hook = async (_operation, transact) => transact();
    const answers = Object.values(requests).map((ask) => asked(rig, ask));
    await rig.clock.advance(3_599);
    expect(answers.filter(({ afterMs }) => afterMs !== undefined)).toEqual([]);
    await rig.clock.advance(100);
    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 'NOT_LEADER'));
  });

  it.each<[string, (rig: CommandRig) => unknown]>([
    ['lost', (rig) => rig.commands.end(0)],
    ['lost with the lane', (rig) => rig.commands.endAll()],
    ['given away', (rig) => rig.commands.quiesce(0, never)],
    ['left by a process that ends', (rig) => rig.commands.drain(never)],
  ])('is declined at once when the shard is %s', async (_how, act) => {
    const rig = await takingOver();
    const answer = asked(rig, (of) => of.commands.submit(of.submission(placeEquity)));
    await rig.clock.advance(1_000);
    await act(rig);
    await rig.clock.advance(1);
    expect(answer.code).toMatch(/^(NOT_LEADER|DRAINING)$/);
    const later = asked(rig, (of) => of.commands.submit(of.submission(placeEquity)));
    await rig.clock.advance(1);
    expect(later.code, 'and so is the next one').toBe(answer.code);
  });

  it('does not hold up the cancels of the other shards', async () => {
    const shardOf = (accountId: string) => Number(accountId.slice('acct-'.length));
    const rig = await CommandRig.leading({ shards: [1], shardOf });
    rig.commands.expect(2);
    const answer = asked(rig, (of) => of.commands.submit(of.submission(cancelWorking)));
    await rig.clock.advance(100);
    expect(answer.code).toBe('ORDER_NOT_FOUND');
    const declined = asked(rig, (of) => of.commands.submit(of.submission({ ...placeEquity, accountId: 'acct-3' })));
    await rig.clock.advance(1);
    expect(declined.code, 'held by another process').toBe('NOT_LEADER');
  });
});

it('every held shard is expected until it has begun', async () => {
  const acts: string[] = [];
  let broken = true;
  const commands = {
    expect: (shard: number) => void acts.push(`expect ${shard}`),
    begin: async ({ shard }: { readonly shard: number }) => {
      if (shard === 0 && broken) throw new Error('no database');
      acts.push(`begin ${shard}`);
    },
    quiesce: async () => undefined,
    end: (shard: number) => void acts.push(`end ${shard}`),
  };
  const ingest = { forgetOrders: () => undefined };
  const sources = { review: () => undefined };
  const held = new HeldShards();
  const work = new ShardWork({ held, sources, ingest, commands, metrics: createMetrics().ingest, log: silentLog });
  const shards = [0, 1, 2].map((shard) => ({ shard, epoch: 1n }));
  work.resume(16, shards);
  expect(acts.splice(0)).toEqual(['expect 0', 'expect 1', 'expect 2']);
  await expect(work.beginCommands()).rejects.toThrow('no database');
  expect(acts.splice(0)).toEqual([]);
  broken = false;
  await work.beginCommands();
  expect(acts.splice(0)).toEqual(['begin 1', 'begin 2', 'begin 0']);
  await work.lose(2);
  expect(acts).toEqual(['end 2']);
});

it('a shard is expected from its row on, since the others forward to us then, until it is not ours after all', async () => {
  const acts: string[] = [];
  const wait = Promise.withResolvers<void>();
  const assignments = [0, 1].map((shard) => ({
    shard,
    epoch: 1n,
    lane: shard === 0 ? 0 : 7,
    pinned: false,
    sinceMs: 0,
  }));
  const store = { take: async () => assignments, look: async () => ({ assignments }) } as unknown as ShardStore;
  const taker = new ShardTaker(
    {
      ...{ store, lease: { lane: 0, epoch: 1n }, held: new HeldShards(), ingest: { fence: () => wait.promise } },
      commands: {
        expect: (shard) => void acts.push(`expect ${shard}`),
        end: (shard) => void acts.push(`end ${shard}`),
      },
      lossCheck: { begin: async () => undefined, failingForMs: undefined },
    },
    6_000,
  );
  const over = new AbortController();
  const first = taker.take(assignments, over.signal);
  await Promise.resolve();
  expect(acts.splice(0)).toEqual(['expect 0', 'expect 1']);
  wait.resolve();
  expect((await first).map(({ shard }) => shard)).toEqual([0]);
  expect(acts.splice(0)).toEqual(['end 1']);
  const second = taker.take(assignments, over.signal);
  await Promise.resolve();
  over.abort();
  await second.catch(() => undefined);
  expect(acts, 'the lane was lost meanwhile').toEqual(['expect 0', 'expect 1', 'end 0', 'end 1']);
});
