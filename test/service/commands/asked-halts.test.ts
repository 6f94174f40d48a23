import { afterEach, describe, expect, it } from 'vitest';
import { commandDefaults } from '../../../src/service/commands/command-options.ts';
import type { AccountRow, Page } from '../../../src/store/orders/order-reads.ts';
import {
  atCapacity,
  CommandRig,
  cancelWorking,
  type EntryScript,
  placeEquity,
  placePrediction,
  replaceWorking,
  unknown,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';
import { runAgainst } from '../../support/rest/rest-answers.ts';
import { ask, startRest } from '../../support/rest/rest-rig.ts';

describe('issue: A halt was answered while another process could still send: a clock was set forward.', () => {
  const service = { kind: 'service' } as const;
  const { writeWithinMs } = commandDefaults;
  const hour = 3_600_000;

  // The answer waited for the processes whose lanes were renewed lately, by the database's clock.
  describe.each([-hour, 0, hour])('where the clocks are set by %i ms while a halt is written', (byMs) => {
    it.each(['the database', 'the process'] as const)(
      'that of %s: it is answered when its second is over',
      async (of) => {
        const ahead = { ms: 0 };
        const rig = await CommandRig.leading({ ahead, sharedClock: true });
        let committedMs = Number.NaN;
        rig.journal.hook = async (operation, transact) => {
          const result = await transact();
          if (operation !== 'raiseHalt') return result;
          await rig.clock.sleep(40);
          committedMs = rig.clock.monotonicMs();
          if (of === 'the process') ahead.ms += byMs;
          else rig.journal.nowMs = () => rig.clock.nowMs() + byMs;
          return result;
        };
        let answered = false;
        const halting = rig.commands.operator.halt(service, word).then((result) => {
          answered = true;
          return result;
        });
        await rig.clock.advanceUntil(() => !Number.isNaN(committedMs), 1_000);
        await rig.clock.advance(writeWithinMs - 1);
        expect(answered, 'a millisecond before').toBe(false);
        await rig.clock.advance(1);
        expect(await halting).toMatchObject({ kind: 'done', halts: [{ cause: 'operator' }] });
      },
    );
  });

  describe('a process that sleeps between the mark of a place and its write', () => {
    it.each([
      ['opened', 0],
      ['marked', 300],
    ] as const)('writes nothing from its second on, and a halt is answered no sooner (%s)', async (_way, connectMs) => {
      for (const [sleptMs, sent] of [
        [writeWithinMs - 100, 1],
        [writeWithinMs, 0],
        [hour, 0],
      ] as const) {
        const rig = await CommandRig.leading({ deadlineMs: 10 * hour });
        const other = await CommandRig.leading({ shards: [1] }, rig);
        const script: EntryScript = { connect: { ms: connectMs }, result: { kind: 'accepted', answer: {} } };
        rig.entry.scripts.push(script);
        rig.entry.sleepsMs = sleptMs;
        const placing = rig.commands.submit(rig.submission(placeEquity));
        await rig.clock.advanceUntil(() => rig.entry.slept, 5_000);
        const halting = other.during(other.commands.operator.halt(service, word));
        await halting;
        const answeredMs = rig.clock.monotonicMs();
        await rig.during(placing, 2 * hour);
        expect(rig.entry.sent, `slept ${sleptMs} ms`).toHaveLength(sent);
        for (const { atMs } of rig.entry.sent) expect(atMs).toBeLessThan(answeredMs);
      }
    });
  });
});

describe('issue: A second halt was answered as done and stopped nothing: the first had just been cleared.', () => {
  const service = { kind: 'service' } as const;
  const started: CommandRig[] = [];
  afterEach(async () => {
    for (const rig of started.splice(0)) await rig.commands.drain(new AbortController().signal);
  });

  // A process looks at the halts of the journal once a second. Within that second it
  // took a halt that another process had cleared for one that stands: the caller was
  // answered with it, and nothing was halted.
  it('is a new halt, in the journal before the answer', async () => {
    const rig = await CommandRig.leading();
    const other = await CommandRig.leading({}, rig);
    started.push(rig, other);
    await rig.during(rig.commands.operator.halt(service, word));
    await other.during(other.commands.operator.resume(service, word));
    expect(await rig.journal.activeHalts()).toEqual([]);
    expect(await rig.during(rig.commands.operator.halt(service, word))).toMatchObject({ kind: 'done' });
    expect(await rig.journal.activeHalts()).toMatchObject([{ cause: 'operator' }]);
    await rig.commands.start();
    await rig.clock.advance(2_000);
    expect(rig.commands.operator.halts.list()).toEqual(await rig.journal.activeHalts());
    expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
  });

  it('is the halt that stands, where it was not cleared', async () => {
    const rig = await CommandRig.leading();
    started.push(rig);
    for (const _ of [1, 2]) await rig.during(rig.commands.operator.halt(service, word));
    expect(rig.journal.halts).toHaveLength(1);
    expect(rig.commands.operator.halts.list()).toEqual(await rig.journal.activeHalts());
  });
});

describe('issue: An operator halted SIM-1010 instead of SIM-1001, was answered 200, and trading went on.', () => {
  const stops: (() => unknown)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  async function started() {
    const rig = await startRest();
    stops.push(() => rig.server.drain(AbortSignal.abort()));
    rig.commands.haltAnswer = { kind: 'done', halts: [] };
    const halt = async (path: string) => {
      const init = { method: 'POST', body: '{"reason":"runs away"}', headers: { 'content-type': 'application/json' } };
      const { status, body } = await ask(`${rig.address}${path}`, init);
      return { status, known: body['accountKnown'] };
    };
    return { rig, halt };
  }

  const followed = { stream: 'prediction', accountId: 'SIM-1001', isSim: true, openOrders: 0 } as const;

  describe('the answer to a halt of one account', () => {
    it('says that no process has ever followed it, and halts it all the same', async () => {
      const { rig, halt } = await started();
      rig.reads.accountRows = [followed];
      expect(await halt('/v1/accounts/SIM-1010/halt')).toEqual({ status: 200, known: false });
      expect(rig.commands.words).toMatchObject([{ what: 'halt', on: { kind: 'account', accountId: 'SIM-1010' } }]);
      expect(await halt('/v1/accounts/SIM-1001/halt')).toEqual({ status: 200, known: true });
      expect(await halt('/v1/halt')).toEqual({ status: 200, known: undefined });
    });

    it('knows an account that is followed here, before the database has its row', async () => {
      const { rig, halt } = await started();
      rig.followed.accounts = [
        { stream: 'account', accountId: 'SIM-1001', state: 'live', sinceMs: 0, silentLosses: 0, beside: [] },
      ];
      expect(await halt('/v1/accounts/SIM-1001/halt')).toEqual({ status: 200, known: true });
    });

    it('says nothing of it where the database fails, or is silent', async () => {
      const { rig, halt } = await started();
      rig.reads.failure = new Error('it is away');
      expect(await halt('/v1/accounts/SIM-1001/halt')).toEqual({ status: 200, known: undefined });
      rig.reads.accounts = () => new Promise<Page<AccountRow>>(() => {});
      expect(await halt('/v1/accounts/SIM-1001/halt')).toEqual({ status: 200, known: undefined });
    });
  });

  it('the command line asks whether the id is right', async () => {
    const { rig } = await started();
    rig.reads.accountRows = [followed];
    const halt = async (account: string) =>
      (await runAgainst(rig.address, ['halt', '--account', account, '--reason', 'x'])).out;
    expect(await halt('SIM-1010')).toMatch(/^No instance has ever followed an account SIM-1010: is the id right\?/);
    expect(await halt('SIM-1001')).toBe('No halt is in force.\n');
  });
});

describe('issue: A place was sent to the venue after the answer to a halt had said that placing is halted.', () => {
  const account = { kind: 'account', accountId: 'acct-1' } as const;
  const service = { kind: 'service' } as const;
  const kill = { ...word, reason: 'KILL SWITCH' };
  const noLine = {
    connect: { result: { kind: 'not_sent', reason: { code: 'NO_ANSWER', message: 'refused' }, mayRepeat: true } },
  } as const;

  // A place was journaled while the venue was down, the halt was acknowledged,
  // the venue came back, and attempt 8 was written: the permit of a write asked
  // lease, deadline and drain, never the halts.
  describe('after a halt was acknowledged', () => {
    it.each([
      ['the account', account],
      ['the service', service],
    ])('no further attempt leaves of a place that was journaled before: halt of %s', async (_of, scope) => {
      const rig = await CommandRig.leading();
      for (let attempt = 0; attempt < 20; attempt += 1) rig.entry.scripts.push({ result: atCapacity });
      const placing = rig.commands.submit(rig.submission(placePrediction));
      await rig.clock.advance(1_500);
      expect(await rig.during(rig.commands.operator.halt(scope, kill))).toMatchObject({ kind: 'done' });
      const before = rig.entry.sent.length;
      rig.entry.scripts.length = 0;
      const placed = await rig.during(placing);
      await rig.clock.advance(20_000);
      expect(rig.entry.sent).toHaveLength(before);
      expect(placed).toMatchObject({
        command: {
          state: 'not_sent',
          reason: { code: 'PLACING_HALTED', message: 'placing was halted (operator): KILL SWITCH' },
        },
      });
    });

    it('a place that has no connection yet says which halt stopped it, not that there was none', async () => {
      const rig = await CommandRig.leading();
      for (let attempt = 0; attempt < 50; attempt += 1) rig.entry.scripts.push({ ...noLine, result: unknown });
      const placing = rig.commands.submit(rig.submission(placePrediction));
      await rig.clock.advance(1_500);
      await rig.during(rig.commands.operator.halt(account, kill));
      expect(await rig.during(placing)).toMatchObject({
        command: { state: 'not_sent', reason: { code: 'PLACING_HALTED' } },
      });
      expect(rig.clock.monotonicMs()).toBeLessThan(5_000);
    });

    it('neither does a replace; a cancel does', async () => {
      const rig = await CommandRig.leading();
      rig.commit(workingOrder);
      rig.entry.scripts.push({ result: atCapacity }, { result: atCapacity });
      const replacing = rig.commands.submit(rig.submission(replaceWorking));
      const canceling = rig.commands.submit(rig.submission(cancelWorking));
      await rig.clock.advance(10);
      await rig.during(rig.commands.operator.halt(account, kill));
      expect(await rig.during(replacing)).toMatchObject({
        command: { state: 'not_sent', reason: { code: 'PLACING_HALTED' } },
      });
      expect(await rig.during(canceling)).toMatchObject({ command: { state: 'accepted' } });
    });

    it.each([
      { way: 'open', connectMs: 1 },
      { way: 'markSending', connectMs: 300 },
    ] as const)('no write leaves whose permit was given or whose claim commits behind it ($way)', async (of) => {
      const rig = await CommandRig.leading();
      rig.entry.scripts.push({ connect: { ms: of.connectMs }, result: unknown });
      const committing = Promise.withResolvers<void>();
      const committed = Promise.withResolvers<void>();
      rig.journal.hook = async (operation, transact) => {
        const result = await transact();
        if (operation === of.way) {
          committing.resolve();
          await committed.promise;
        }
        return result;
      };
      const placing = rig.commands.submit(rig.submission(placePrediction));
      await rig.clock.advanceUntil(() => rig.journal.commands.size > 0, 1_000);
      await rig.clock.advance(of.connectMs + 5);
      await committing.promise;
      await rig.during(rig.commands.operator.halt(account, kill));
      committed.resolve();
      expect(await rig.during(placing)).toMatchObject({
        command: { state: 'not_sent', reason: { code: 'PLACING_HALTED' } },
      });
      expect(rig.entry.sent).toEqual([]);
    });

    it('a process that takes the lane over sends nothing of it either', async () => {
      const rig = await CommandRig.leading();
      await rig.during(rig.commands.operator.halt(service, kill));
      const next = await CommandRig.leading({}, rig);
      expect(await next.declined(placePrediction)).toBe('PLACING_HALTED');
    });

    it('placing goes on once a person has resumed', async () => {
      const rig = await CommandRig.leading();
      await rig.during(rig.commands.operator.halt(account, kill));
      await rig.during(rig.commands.operator.resume(account, word));
      expect((await rig.send(placePrediction)).state).toBe('accepted');
    });
  });

  describe('an automatic halt stops what is journaled as well', () => {
    it('by the breaker', async () => {
      const rig = await CommandRig.leading({ breaker: { count: 2, windowMs: 1_000 } });
      rig.entry.scripts.push({ result: atCapacity });
      const first = rig.commands.submit(rig.submission(placePrediction));
      await rig.clock.advance(10);
      await rig.submit({ ...placePrediction, terms: { ...placePrediction.terms, quantity: '11' } });
      expect(await rig.during(first)).toMatchObject({
        command: { state: 'not_sent', reason: { code: 'PLACING_HALTED', message: expect.stringContaining('(rate)') } },
      });
    });

    it('by unresolved commands, and by a late landing', async () => {
      const rig = await CommandRig.leading({ haltAt: { account: 1, service: 10 } });
      rig.entry.scripts.push({ result: atCapacity }, { result: unknown }, { result: atCapacity });
      const first = rig.commands.submit(rig.submission(placePrediction));
      await rig.clock.advance(5);
      await rig.submit({ ...placePrediction, terms: { ...placePrediction.terms, quantity: '11' } });
      expect(await rig.during(first)).toMatchObject({
        command: {
          state: 'not_sent',
          reason: { code: 'PLACING_HALTED', message: expect.stringContaining('(unresolved)') },
        },
      });
    });
  });

  it('a halt that another lane was given reaches what is journaled here within five seconds', async () => {
    const zero = await CommandRig.leading({ shards: [0] });
    const one = await CommandRig.leading({ shards: [1], deadlineMs: 30_000 }, zero);
    await one.commands.start();
    for (let attempt = 0; attempt < 200; attempt += 1) one.entry.scripts.push({ result: atCapacity });
    const placing = one.commands.submit(one.submission(placePrediction));
    await zero.clock.advance(10);
    await zero.during(zero.commands.operator.halt(service, kill));
    await zero.clock.advance(5_000);
    const before = one.entry.sent.length;
    expect(await one.during(placing)).toMatchObject({
      command: { state: 'not_sent', reason: { code: 'PLACING_HALTED' } },
    });
    expect(one.entry.sent).toHaveLength(before);
    await one.commands.drain(new AbortController().signal);
  });
});
