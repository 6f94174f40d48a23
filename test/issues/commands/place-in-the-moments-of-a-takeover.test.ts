// What a user saw: A place for an account shown as live was declined, though its process took commands soon.

import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import type { Answer } from '../../../src/service/commands/answer.ts';
import { type AnyCall, Forwarding } from '../../../src/service/rest/instances/forwarding.ts';
import { cancelAfterOfAll, cancelAllOfAll } from '../../../src/service/rest/instances/over-instances.ts';
import { CommandRig, cancelWorking, placeEquity, replaceWorking, word } from '../../support/commands/command-rig.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

const never = new AbortController().signal;
const placing = placeEquity satisfies { kind: 'place' };
const accountId = 'acct-1';
const ofAll = { kind: 'service', accountIds: [accountId] } as const;
const waits = { order: 3_600, act: 9_000 };

/** The way of a request in a process that knows no other one. */
function doorOf({ clock }: CommandRig): Forwarding {
  const http = { request: async () => expect.unreachable(), close: async () => undefined };
  const others = { holderOf: () => undefined, all: () => [] };
  return new Forwarding(
    {
      ...{ clock, http, others, metrics: createMetrics().rest, log: silentLog },
      random: { next: () => 1, uuid: () => '' },
    },
    { instance: 'one', mostInFlight: 1, answerWithinMs: 1_000, actWaitMs: waits.act, orderWaitMs: waits.order },
  );
}

function newCall(headers: Record<string, string> = {}) {
  const raw = new EventEmitter();
  return { call: { request: { headers }, reply: { raw } } as unknown as AnyCall, leave: () => raw.emit('close') };
}

type Ask = (rig: CommandRig, door: Forwarding, call: AnyCall) => Promise<object>;

function enter<T extends { readonly kind: string }>(run: (rig: CommandRig) => Promise<Answer<T>>): Ask {
  return (rig, door, call) => door.enter(call, accountId, () => run(rig));
}

function order<T extends { readonly kind: string }>(run: (rig: CommandRig) => Promise<Answer<T>>): Ask {
  return (rig, door, call) => door.enter(call, accountId, () => run(rig), door.untilMs('order'));
}

/** A part as this process's own document: here nobody reads it. */
async function partOf<T extends { readonly kind: string }>(work: Promise<Answer<T>>) {
  const result = await work;
  return 'code' in result ? result : ({ kind: 'done', body: result as never } as const);
}

function sweep(accountIds: readonly string[], idempotencyKey: string): Ask {
  return ({ commands }, door, call) =>
    cancelAllOfAll(door, call, () => partOf(commands.cancelAll({ ...ofAll, accountIds }, { ...word, idempotencyKey })));
}

/** Every kind of request that only the holder of a shard can carry out. */
const orders: Record<string, Ask> = {
  place: order((rig) => rig.commands.submit(rig.submission(placeEquity))),
  replace: order((rig) => rig.commands.submit(rig.submission(replaceWorking))),
  cancel: order((rig) => rig.commands.submit(rig.submission(cancelWorking))),
  preview: order((rig) => rig.commands.preview({ principal: 'desk', requestId: 'r', request: placing })),
};
const acts: Record<string, Ask> = {
  'cancel-all of an account': enter((rig) =>
    rig.commands.cancelAll({ kind: 'account', accountId }, { ...word, idempotencyKey: 'one' }),
  ),
  'cancel-all of every account': sweep([accountId], 'all'),
  'cancel-all of no account': sweep([], 'none'),
  'cancel-after': ({ commands }, door, call) => {
    const asked = { principal: 'desk', afterMs: 30_000, accountIds: [accountId], requestId: 'r' };
    return cancelAfterOfAll(door, call, () => partOf(commands.cancelAfter(asked)), [accountId]);
  },
  'reconcile of an account': enter((rig) => rig.commands.reconcile({ accountId, dryRun: true })),
  settle: enter((rig) => {
    const [commandId = ''] = rig.journal.commands.keys();
    return rig.commands.operator.settle(commandId, 'rejected', word);
  }),
  'resume of an account': enter((rig) => rig.commands.operator.resume({ kind: 'account', accountId }, word)),
  'resume of every account': enter((rig) => rig.commands.operator.resume({ kind: 'service' }, word)),
};
const requests = { ...orders, ...acts };

/** A process that holds the shard of the account, and has not taken its commands over. */
async function takingOver() {
  const before = await CommandRig.leading();
  await before.send(placeEquity);
  before.commands.end(0);
  const rig = new CommandRig({}, before);
  rig.lease.confirm(2n, rig.clock.monotonicMs());
  return rig;
}

/** What the request comes to, with the time that its caller waited. */
function asked(rig: CommandRig, ask: Ask, { call } = newCall()) {
  const beganMs = rig.clock.monotonicMs();
  const answer: { code?: string | undefined; afterMs?: number } = {};
  void ask(rig, doorOf(rig), call).then((result) => {
    const { code, body = {} } = result as { code?: string; body?: { declined?: readonly { code: string }[] } };
    answer.code = code ?? body.declined?.[0]?.code;
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
    await rig.clock.advance(1_500);
    expect(answer.afterMs).toBeGreaterThanOrEqual(2_000);
    expect(answer.code).not.toBe('NOT_LEADER');
  });

  it.each([['order', orders] as const, ['act', acts] as const])(
    'waits while the journal can not be read, and no longer than its bound: %s',
    async (kind, asks) => {
      const rig = await takingOver();
      rig.journal.hook = async (operation, transact) => {
        if (operation === 'takeOver') throw new Error('no database');
        return transact();
      };
      await expect(rig.commands.begin({ shard: 0, epoch: 2n })).rejects.toThrow('no database');
      const answers = Object.values(asks).map((ask) => asked(rig, ask));
      await rig.clock.advance(waits[kind] - 1);
      expect(answers.filter(({ afterMs }) => afterMs !== undefined)).toEqual([]);
      await rig.clock.advance(100);
      expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 'NOT_LEADER'));
    },
  );

  it('is declined at once by a process that ends, where there is no other one', async () => {
    const rig = await takingOver();
    const answer = asked(rig, requests['place'] as Ask);
    await rig.clock.advance(1_000);
    await rig.commands.drain(never);
    await rig.clock.advance(1_000);
    expect(answer.code).toBe('DRAINING');
    const later = asked(rig, requests['place'] as Ask);
    await rig.clock.advance(1);
    expect(later.code, 'and so is the next one').toBe('DRAINING');
  });

  it('is not carried out for a caller that left meanwhile', async () => {
    const rig = await takingOver();
    const { call, leave } = newCall();
    const answer = asked(rig, requests['place'] as Ask, { call, leave });
    await rig.clock.advance(1_000);
    leave();
    await rig.during(rig.commands.begin({ shard: 0, epoch: 2n }));
    await rig.clock.advance(10_000);
    expect([answer.code, rig.journal.commands.size]).toEqual(['NOT_LEADER', 1]);
  });

  it('is answered at once where another instance sent it: that one asks again', async () => {
    const rig = await takingOver();
    const answers = Object.values(requests).map((ask) => asked(rig, ask, newCall({ 'tidemark-forwarded': 'two' })));
    await rig.clock.advance(1);
    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 'NOT_LEADER'));
  });
});
