import { EventEmitter } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import type { Answer } from '../../../src/service/commands/answer.ts';
import { type AnyCall, Forwarding } from '../../../src/service/rest/instances/forwarding.ts';
import { cancelAfterOfAll, cancelAllOfAll } from '../../../src/service/rest/instances/over-instances.ts';
import {
  accepted,
  CommandRig,
  cancelWorking,
  placeEquity,
  replaceWorking,
  unknown,
  word,
} from '../../support/commands/command-rig.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

describe('issue: A place for an account shown as live was declined, though its process took commands soon.', () => {
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
      cancelAllOfAll(door, call, () =>
        partOf(commands.cancelAll({ ...ofAll, accountIds }, { ...word, idempotencyKey })),
      );
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
    'probe of an account': enter((rig) => rig.commands.probeNow({ accountId, dryRun: true })),
    resolve: enter((rig) => {
      const [commandId = ''] = rig.journal.commands.keys();
      return rig.commands.operator.resolve(commandId, 'rejected', word);
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
});

describe('issue: After a takeover orders were refused for an hour, or one was placed twice.', () => {
  const minute = 60_000;
  const hour = 60 * minute;
  const day = 24 * hour;

  /** A process with the true time has done something, and one whose clock is off takes over. */
  async function takenOver(aheadMs: number, before: (rig: CommandRig) => Promise<unknown>, afterMs = 0) {
    const first = await CommandRig.leading();
    await before(first);
    // Nothing of a process that is gone is to be done in the seven days until then.
    first.commands.end(0);
    await first.clock.advance(afterMs);
    return CommandRig.leading({ ahead: { ms: aheadMs }, sharedClock: true }, first);
  }

  async function limited(rig: CommandRig, bounds: object): Promise<void> {
    const { operator } = rig.commands;
    const result = await rig.during(operator.changeLimits({ accountId: 'acct-1' }, bounds, word));
    if (result.kind !== 'done') throw new Error(`the limits were not set: ${JSON.stringify(result)}`);
  }

  /** A place that the platform has taken. */
  function place(rig: CommandRig, idempotencyKey = 'first') {
    rig.entry.scripts.push({ result: accepted });
    return rig.submit(placeEquity, { idempotencyKey });
  }

  async function resultOf(rig: CommandRig, idempotencyKey = 'second'): Promise<string> {
    const result = await rig.during(place(rig, idempotencyKey));
    return result.kind === 'declined' ? result.code : `${result.kind} ${rig.entry.sent.length}`;
  }

  const offs = [-day, -hour, 0, hour, day];

  describe.each(offs.map((ms) => [ms / hour, ms] as const))(
    'a takeover by a clock that is %i h ahead',
    (_hours, ms) => {
      it('counts the orders of the last minute, and no older ones', async () => {
        const before = async (rig: CommandRig) => {
          await limited(rig, { ordersPerMinute: 1 });
          await rig.during(place(rig));
        };
        expect(await resultOf(await takenOver(ms, before, minute / 2))).toBe('LIMIT_EXCEEDED');
        expect(await resultOf(await takenOver(ms, before, 2 * minute))).toMatch(/ 1$/);
      });

      it('knows a repeated order within its window, and not after', async () => {
        const before = async (rig: CommandRig) => {
          await limited(rig, { duplicateWindowMs: 10 * minute });
          await rig.during(place(rig));
        };
        expect(await resultOf(await takenOver(ms, before, 9 * minute))).toBe('LIMIT_EXCEEDED');
        expect(await resultOf(await takenOver(ms, before, 11 * minute))).toMatch(/ 1$/);
      });

      it('keeps a key for seven days, and no longer', async () => {
        const before = async (rig: CommandRig) => {
          const result = await rig.during(place(rig));
          if (result.kind === 'declined') throw new Error(result.code);
          rig.land(result.command.commandId);
          // Its days begin when it is resolved.
          await rig.clock.advance(1_000);
        };
        expect(await resultOf(await takenOver(ms, before, 7 * day - 30 * minute), 'first')).toMatch(/ 0$/);
        expect(await resultOf(await takenOver(ms, before, 7 * day + 30 * minute), 'first')).toMatch(/ 1$/);
      });

      it('presumes a place absent after ten minutes and five reads, not before and not much later', async () => {
        let commandId = '';
        const before = async (rig: CommandRig) => {
          rig.entry.scripts.push({ result: unknown });
          ({ commandId } = await rig.send(placeEquity));
        };
        const rig = await takenOver(ms, before, minute / 2);
        await rig.clock.advance(8 * minute);
        expect(rig.command(commandId)).toMatchObject({ state: 'unknown', presumedAbsent: false });
        await rig.clock.advance(12 * minute);
        expect(rig.command(commandId)).toMatchObject({ state: 'unknown', presumedAbsent: true });
      });
    },
  );
});

describe('issue: A halt of the whole service stopped one lane, and the other lane went on placing.', () => {
  const service = { kind: 'service' } as const;
  const started: CommandRig[] = [];
  afterEach(async () => {
    for (const rig of started.splice(0)) await rig.commands.drain(new AbortController().signal);
  });

  /** Two processes, each the holder of its lane. */
  async function twoLanes() {
    const zero = await CommandRig.leading({ shards: [0] });
    const one = await CommandRig.leading({ shards: [1] }, zero);
    for (const rig of [zero, one]) {
      await rig.commands.start();
      started.push(rig);
    }
    return { zero, one, pass: (ms: number) => zero.clock.advance(ms) };
  }

  it('a halt of the service that one holder is given holds in the other lane within five seconds, and so does its end', async () => {
    const { zero, one, pass } = await twoLanes();
    await zero.during(zero.commands.operator.halt(service, word));
    await pass(5_000);
    expect(await one.declined(placeEquity)).toBe('PLACING_HALTED');
    await zero.during(zero.commands.operator.resume(service, word));
    await pass(5_000);
    expect((await one.send(placeEquity)).state).toBe('accepted');
  });

  it('a halt that the journal could not be told yet is kept', async () => {
    const { zero, one, pass } = await twoLanes();
    zero.journal.hook = async (operation, transact) => {
      if (operation === 'raiseHalt') throw new Error('no database');
      return transact();
    };
    expect(await one.during(one.commands.operator.halt(service, word))).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await pass(30_000);
    expect(await one.declined(placeEquity)).toBe('PLACING_HALTED');
    expect((await zero.send(placeEquity)).state).toBe('accepted');
  });

  it('a look at the halts that a write overtook changes nothing', async () => {
    const { zero, pass } = await twoLanes();
    const asked = Promise.withResolvers<void>();
    const late = Promise.withResolvers<void>();
    zero.journal.hook = async (operation, transact) => {
      const result = await transact();
      if (operation === 'activeHalts') {
        asked.resolve();
        await late.promise;
      }
      return result;
    };
    await pass(5_000);
    await asked.promise;
    await zero.during(zero.commands.operator.halt(service, word));
    late.resolve();
    await pass(100);
    expect(await zero.declined(placeEquity)).toBe('PLACING_HALTED');
  });

  it("a holder that looks through the journal leaves the other lane's unresolved commands to it", async () => {
    const { zero, one, pass } = await twoLanes();
    one.entry.scripts.push({ result: unknown });
    const { commandId } = await one.send({ ...placeEquity, accountId: 'acct-2' } as unknown as typeof placeEquity);
    zero.journal.hook = async (operation, transact) => {
      if (operation === 'open') throw new Error('no answer');
      return transact();
    };
    expect(await zero.declined(placeEquity), 'it may be in the journal: the holder looks').toBe('STORE_UNAVAILABLE');
    await pass(60_000);
    expect(one.state(commandId)).toBe('unknown');
    expect([zero.commands.status().unresolved, one.commands.status().unresolved]).toEqual([0, 1]);
    expect(zero.probes.asked.filter(({ accountId }) => accountId === 'acct-2')).toEqual([]);
  });

  it('who resolves a command at the holder of another lane is told whom to ask', async () => {
    const { zero, one } = await twoLanes();
    one.entry.scripts.push({ result: unknown });
    const { commandId } = await one.send(placeEquity);
    expect(await zero.during(zero.commands.operator.resolve(commandId, 'moot', word))).toMatchObject({
      code: 'NOT_LEADER',
    });
    expect(await one.during(one.commands.operator.resolve(commandId, 'moot', word))).toMatchObject({ kind: 'done' });
  });
});

describe('issue: After a failover one version of a command was published twice, with two results.', () => {
  // The database had lost the last step of a command. The process that had made it met an older
  // version, and gave the number of the lost one again, before a renewal noticed the loss.
  it('a step that the journal has lost is noticed before its number is given again', async () => {
    const asked: object[] = [];
    const versions: number[] = [];
    const rig = await CommandRig.leading({
      noticeLost: async (seen) => {
        asked.push(seen);
        versions.push(rig.command(commandId).version);
      },
    });
    const { commandId, ...accepted } = await rig.send(placeEquity);
    expect(accepted).toMatchObject({ state: 'accepted', version: 2 });
    rig.loseSteps(commandId);
    rig.land(commandId);
    await rig.clock.advance(1_000);
    expect(asked).toEqual([['step', commandId, 2, accepted.updatedAtMs]]);
    expect(versions, 'before anything is written').toEqual([1]);
  });

  it('a step that another writer made first is no loss', async () => {
    const asked: object[] = [];
    const rig = await CommandRig.leading({ noticeLost: async (seen) => void asked.push(seen) });
    const command = await rig.send(placeEquity);
    rig.journal.force('update journal set version = 5 where command_id = $1 and number > 1', [command.commandId]);
    rig.land(command.commandId);
    await rig.clock.advance(1_000);
    expect([rig.command(command.commandId).state, asked]).toEqual(['applied', []]);
  });
});
