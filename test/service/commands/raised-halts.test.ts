import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load-config.ts';
import { recomputeVerdict } from '../../../src/domain/recompute-verdict.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { AuditTrail } from '../../../src/service/commands/audit-trail.ts';
import { commandDefaults } from '../../../src/service/commands/command-options.ts';
import { Halts } from '../../../src/service/commands/halts.ts';
import { RateBreaker } from '../../../src/service/commands/rate-breaker.ts';
import { RateBudget } from '../../../src/service/commands/rate-budget.ts';
import type { AuditTrailEntry } from '../../../src/store/commands/command-journal.ts';
import type { WriteResult } from '../../../src/venue/write-result.ts';
import { CommandRig, placeEquity, refused, unknown, word } from '../../support/commands/command-rig.ts';
import { accountScope, fence, service } from '../../support/commands/journal-fixtures.ts';
import type { JournalOperation } from '../../support/commands/memory-journal.ts';
import { rigJournal } from '../../support/commands/rig-journal.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

describe('issue: An account that placed orders at its allowed rate was halted after 50 seconds.', () => {
  const account = { kind: 'account', accountId: 'acct-1' } as const;

  /** Faults of the configuration with these settings of the command side, by name. */
  function faults(settings: Record<string, string>): string[] {
    const result = loadConfig(settings, () => '');
    return result.ok ? [] : result.faults.map(({ name, problem }) => `${name} ${problem}`);
  }

  // 1,000 in 60 s was below 20 a second: an account at its allowed rate was halted after 50
  // seconds.
  it('an account that uses all of its default budget is never halted by the default breaker', () => {
    const clock = new VirtualClock();
    let ms = 0;
    const stepping: Clock = Object.assign(Object.create(clock), { monotonicMs: () => ms });
    const budget = new RateBudget(stepping, commandDefaults.rate);
    const breaker = new RateBreaker(stepping, commandDefaults.breaker);
    let sent = 0;
    for (ms = 0; ms < 600_000; ms += 10) {
      if (budget.take('A') !== undefined) continue;
      sent += 1;
      expect(breaker.count('A')).toBe(false);
    }
    expect(sent).toBeGreaterThan(11_000);
  });

  it('a breaker that the budget alone may reach is a fault of the configuration', () => {
    const names = {
      TIDEMARK_COMMAND_RATE: '20',
      TIDEMARK_COMMAND_BURST: '40',
      TIDEMARK_BREAKER_WINDOW_MS: '60000',
    };
    expect(faults({ ...names, TIDEMARK_BREAKER_COMMANDS: '1300' })).toContainEqual(
      expect.stringMatching(
        /^TIDEMARK_BREAKER_COMMANDS \(1300\) must be above 1300: the budget .*TIDEMARK_COMMAND_RATE.*TIDEMARK_COMMAND_BURST.*allows as many within TIDEMARK_BREAKER_WINDOW_MS/,
      ),
    );
    expect(faults({ ...names, TIDEMARK_BREAKER_COMMANDS: '1301' }).filter((each) => each.includes('BREAKER'))).toEqual(
      [],
    );
    expect(faults({}).filter((each) => each.includes('BREAKER'))).toEqual([]);
  });

  it('a loop that asks for far more than its budget trips the breaker, though the budget lets nothing more through', async () => {
    const rig = await CommandRig.leading({ rate: { perSecond: 2, burst: 2 }, breaker: { count: 20, windowMs: 1_000 } });
    for (let qty = 1; qty <= 19; qty += 1)
      await rig.submit({ ...placeEquity, terms: { ...placeEquity.terms, qty: String(qty) } });
    expect(rig.entry.sent).toHaveLength(2);
    expect(rig.commands.operator.halts.list()).toEqual([]);
    await rig.submit({ ...placeEquity, terms: { ...placeEquity.terms, qty: '20' } });
    expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'rate', scope: account }]);
  });

  it('the same key again and again is no loop of orders', async () => {
    const rig = await CommandRig.leading({
      rate: { perSecond: 100, burst: 100 },
      breaker: { count: 20, windowMs: 1_000 },
    });
    for (let times = 0; times < 40; times += 1) await rig.submit(placeEquity, { idempotencyKey: 'one' });
    expect(rig.commands.operator.halts.list()).toEqual([]);
  });
});

describe('issue: Nothing stopped an account whose stored command, perhaps sent, could not be read.', () => {
  /** A process that takes over a shard with a command of acct-1 that can't be read. */
  async function takingOver(result: WriteResult): Promise<{ rig: CommandRig; damaged: string }> {
    const before = await CommandRig.leading();
    before.entry.scripts.push({ result });
    const { commandId } = await before.send(placeEquity);
    before.commands.endAll();
    before.journal.force(`update journal set body = jsonb_set(body::jsonb, '{request}', '{}')::text where number = 1`);
    return { rig: await CommandRig.leading({}, before), damaged: commandId };
  }

  it('halts its account alone, and once: no later takeover undoes a resume', async () => {
    const { rig, damaged } = await takingOver(unknown);
    expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
    expect(rig.journal.halts).toMatchObject([
      { haltId: `unreadable-${damaged}`, scope: accountScope('acct-1'), cause: 'unreadable', by: 'tidemark' },
    ]);
    await rig.send({ ...placeEquity, accountId: 'acct-2' });

    await rig.during(rig.commands.operator.resume(accountScope('acct-1'), word));
    const next = await CommandRig.leading({}, rig);
    await next.send(placeEquity);
    expect(next.journal.halts).toHaveLength(1);
  });

  it('halts nothing for a command that is over', async () => {
    const { rig } = await takingOver(refused(400));
    await rig.send(placeEquity);
    expect(rig.journal.halts).toEqual([]);
  });
});

describe('issue: A halt was forgotten when its process took the lane again after a database outage.', () => {
  const service = { kind: 'service' } as const;
  const started: CommandRig[] = [];
  afterEach(async () => {
    for (const rig of started.splice(0)) await rig.commands.drain(new AbortController().signal);
  });

  /**
   * A holder that has raised a halt while the journal takes no halts, and has then lost its lane.
   * `back`: the journal takes them again.
   */
  async function haltedWithoutJournal() {
    const rig = await CommandRig.leading({ haltAt: { account: 1, service: 10 } });
    started.push(rig);
    let away = true;
    rig.journal.hook = async (operation, transact) => {
      if (operation === 'raiseHalt' && away) throw new Error('no database');
      return transact();
    };
    await rig.commands.start();
    return {
      rig,
      back: () => {
        away = false;
      },
    };
  }

  // The halts of a term were in its memory alone while the database was away; the next begin of a
  // term read the journal and forgot them.
  it('holds in the next term of the same process', async () => {
    const { rig, back } = await haltedWithoutJournal();
    expect(await rig.during(rig.commands.operator.halt(service, word))).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    rig.commands.endAll();
    await rig.begin(2n);
    expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
    back();
    await rig.clock.advance(6_000);
    expect(rig.journal.halts).toMatchObject([{ cause: 'operator', reason: word.reason }]);
    expect(rig.commands.operator.halts.list()).toHaveLength(1);
  });

  it('reaches the journal, and so the new holder, from a process that stands by', async () => {
    const { rig, back } = await haltedWithoutJournal();
    rig.entry.scripts.push({ result: unknown });
    void rig.commands.submit(rig.submission(placeEquity));
    await rig.clock.advance(3_000);
    expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'unresolved' }]);
    rig.commands.endAll();
    back();
    const next = await CommandRig.leading({ haltAt: { account: 100, service: 100 } }, rig);
    started.push(next);
    await next.commands.start();
    await rig.clock.advance(11_000);
    expect(rig.journal.halts).toMatchObject([{ cause: 'unresolved' }]);
    expect(await next.declined(placeEquity)).toBe('PLACING_HALTED');
    await next.during(next.commands.operator.resume({ kind: 'account', accountId: 'acct-1' }, word));
    await rig.clock.advance(11_000);
    expect(
      [rig.commands.operator.halts.list(), next.commands.operator.halts.list()],
      'a person has cleared it, for both',
    ).toEqual([[], []]);
  });

  it('is cleared by a person before it is durable, and does not come back', async () => {
    const { rig, back } = await haltedWithoutJournal();
    await rig.during(rig.commands.operator.halt(service, word));
    expect(await rig.during(rig.commands.operator.resume(service, word))).toMatchObject({ kind: 'done', halts: [] });
    back();
    await rig.clock.advance(11_000);
    expect(rig.journal.halts).toEqual([]);
    expect((await rig.send(placeEquity)).state).toBe('accepted');
  });
});

describe('issue: A halt that was answered as done ended by itself when the database lost its last commits.', () => {
  const word = { by: 'desk', reason: 'kill switch', requestId: 'r-1' };

  async function twoProcesses() {
    const journal = rigJournal(new VirtualClock());
    await journal.takeOver(fence, 0, 0);
    const process = (seed: number) =>
      new Halts({
        ...{ journal, clock: new VirtualClock(), random: seededRandom(seed), log: silentLog },
        metrics: createMetrics().commands,
      });
    return { journal, a: process(1), b: process(2), lose: () => journal.force('delete from halts') };
  }

  async function look(at: Halts): Promise<void> {
    await at.keepDurable();
    await at.refresh();
  }

  it('a halt that was answered holds behind a look at a database without it, and is put back', async () => {
    const { journal, a, b, lose } = await twoProcesses();
    const halt = await a.raise(service, 'operator', word);
    await look(b);
    lose();
    for (const halts of [a, b]) await halts.refresh();
    expect(
      [a, b].map((halts) => halts.blocking('acct-1')),
      'in every process',
    ).toEqual([halt, halt]);
    await look(a);
    await look(b);
    expect(journal.halts).toEqual([halt]);
    expect([a, b].map((halts) => halts.list())).toEqual([[halt], [halt]]);
  });

  it('a halt that was resumed elsewhere is not put back', async () => {
    const { journal, a, b } = await twoProcesses();
    await a.raise(service, 'operator', word);
    await look(b);
    await b.clear(service, word, { fence, over: new AbortController().signal });
    await look(a);
    await look(a);
    expect(a.list()).toEqual([]);
    expect(journal.halts).toMatchObject([{ clearedBy: 'desk' }]);
  });

  it('a halt that was put back by one process, and resumed, is not raised again by one that hears of it late', async () => {
    const { journal, a, b, lose } = await twoProcesses();
    await a.raise(service, 'operator', word);
    await look(b);
    lose();
    await b.refresh();
    await look(a);
    await look(a);
    await a.clear(service, word, { fence, over: new AbortController().signal });
    await look(b);
    expect(b.list()).toEqual([]);
    expect(journal.halts).toMatchObject([{ clearedBy: 'desk' }]);
  });

  it('a person who halts again what was written unseen, and resumed, is given a halt that holds', async () => {
    const { journal, a, b } = await twoProcesses();
    journal.hook = async (operation, transact) => {
      const result = await transact();
      if (operation === 'raiseHalt') throw new Error('the answer was lost');
      return result;
    };
    await expect(a.raise(service, 'operator', word)).rejects.toThrow('lost');
    journal.hook = async (_, transact) => transact();
    await look(b);
    await b.clear(service, word, { fence, over: new AbortController().signal });
    const again = await a.raise(service, 'operator', word);
    expect(again.clearedAtMs).toBeUndefined();
    expect(a.list()).toEqual([again]);
    expect(await journal.activeHalts()).toEqual([again]);
  });
});

describe('issue: An order landed after a person had resolved it as rejected; the halt came six minutes late.', () => {
  const rejected = { kind: 'rejected', reason: { code: 'NO', message: 'no' }, answer: {} } as const;

  async function cameToNothing(
    how: 'not_sent' | 'rejected' | 'moot' | 'answered',
  ): Promise<{ rig: CommandRig; commandId: string }> {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: how === 'answered' ? rejected : unknown });
    const { commandId } = await rig.send(placeEquity);
    if (how !== 'answered') await rig.during(rig.commands.operator.resolve(commandId, how, word));
    await rig.clock.advance(60_000);
    return { rig, commandId };
  }

  // After a person's `rejected` it took the sweep six minutes: pending_new was let pass, and the
  // next view was not judged again.
  describe('an order that lands after its place came to nothing', () => {
    it.each(['not_sent', 'rejected', 'moot'] as const)(
      'is halted and alarmed at its first view, behind a person’s %s',
      async (how) => {
        const { rig, commandId } = await cameToNothing(how);
        rig.land(commandId, { status: 'pending_new' });
        await rig.clock.advance(10);
        expect(rig.commands.operator.halts.list()).toMatchObject([
          { cause: 'late_landing', scope: { accountId: 'acct-1' } },
        ]);
        expect(rig.command(commandId)).toMatchObject({ state: 'accepted', orderId: `of-${commandId}` });

        rig.commit(rig.landed(commandId, { status: 'new' }));
        await rig.clock.advance(10);
        expect(rig.state(commandId)).toBe('applied');
        const updates = rig.orders.updatesAfter('account', `of-${commandId}`, 0, 100);
        expect(recomputeVerdict(rig.command(commandId), rig.evidence(commandId), updates).agrees).toBe(true);
      },
    );

    it('is let pass while nobody has taken it where the platform answered that it is rejected, and told by the view after that', async () => {
      const { rig, commandId } = await cameToNothing('answered');
      rig.land(commandId, { status: 'pending_new' });
      await rig.clock.advance(10);
      expect(rig.commands.operator.halts.list()).toEqual([]);
      rig.commit(rig.landed(commandId, { status: 'new' }));
      await rig.clock.advance(10);
      expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'late_landing' }]);
      expect(rig.state(commandId)).toBe('applied');
    });

    it('is told also where the venue refused the order first, and then fills it', async () => {
      const rig = await CommandRig.leading();
      rig.entry.scripts.push({ result: unknown });
      const { commandId } = await rig.send(placeEquity);
      rig.land(commandId, { status: 'rejected' });
      await rig.clock.advance(10);
      expect(rig.state(commandId)).toBe('rejected');
      rig.commit(rig.landed(commandId, { status: 'filled', cumQty: '10', leavesQty: '0' }));
      await rig.clock.advance(10);
      expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'late_landing' }]);
      expect(rig.state(commandId)).toBe('applied');
    });

    it.each(['handed over', 'found in the log'] as const)(
      'is followed until the venue has decided, also by the next holder (%s)',
      async (how) => {
        const { rig, commandId } = await cameToNothing('rejected');
        rig.commands.endAll();
        await rig.clock.advance(3_600_000);
        const next = await CommandRig.leading({}, rig);
        next.commit(rig.landed(commandId, { status: 'pending_new' }), { commandId, handed: how === 'handed over' });
        await next.clock.advance(600_000);
        expect(next.commands.operator.halts.list()).toMatchObject([{ cause: 'late_landing' }]);
        next.commit(rig.landed(commandId, { status: 'rejected' }));
        await next.clock.advance(10);
        expect(rig.state(commandId)).toBe('rejected');
      },
    );
  });
});

describe('issue: After one failed database write, the audit trail did not show who had halted or resolved.', () => {
  /** A database that is away until it is told to be there, and keeps what it was told. */
  function trail() {
    const clock = new VirtualClock();
    const written: { readonly action: string; readonly again: boolean }[] = [];
    const database = { isThere: false, asked: 0 };
    const audit = async (entries: readonly AuditTrailEntry[], again = false) => {
      database.asked += 1;
      if (!database.isThere) throw new Error('away');
      written.push(...entries.map(({ action }) => ({ action, again })));
    };
    const lines: { readonly msg: string; readonly action?: string }[] = [];
    const log = pino({}, { write: (text: string) => void lines.push(JSON.parse(text)) });
    const audits = new AuditTrail({ journal: { addToAuditTrail: audit }, clock, random: seededRandom(1), log });
    const record = (action: string) => audits.record({ atMs: 1, principal: 'ann', action });
    const lost = () =>
      lines.filter(({ msg }) => /dropped|record could not be written$/.test(msg)).map(({ action }) => action);
    return { clock, audits, record, written, database, lost };
  }

  it('lines are kept while the database is away, and written in their order when it is back', async () => {
    const { clock, record, written, database, lost } = trail();
    for (const action of ['halt', 'resolve']) record(action);
    await clock.advance(60_000);
    expect(database.asked, 'it waits between its tries').toBeLessThan(60);
    record('resume');
    database.isThere = true;
    await clock.advance(10_000);
    expect(written.map(({ action }) => action)).toEqual(['halt', 'resolve', 'resume']);
    expect(written[0]?.again, 'the write that failed may have been done').toBe(true);
    record('halt');
    await clock.advance(0);
    expect(written.at(-1)).toEqual({ action: 'halt', again: false });
    expect(lost()).toEqual([]);
  });

  it('without room, lines of commands go before those of people, and each is in the log', async () => {
    const { clock, record, written, database, lost } = trail();
    record('halt');
    for (let n = 0; n < 9_999; n += 1) record('place');
    for (const action of ['resolve', 'place', 'resume']) record(action);
    expect(lost()).toEqual(['place', 'place']);
    database.isThere = true;
    await clock.advance(60_000);
    expect(written).toHaveLength(10_001);
    expect(written.map(({ action }) => action).filter((action) => action !== 'place')).toEqual([
      'halt',
      'resolve',
      'resume',
    ]);
  });

  it('a process that ends meanwhile puts them into its log, and ends', async () => {
    const { audits, record, lost, clock } = trail();
    for (const action of ['halt', 'resolve']) record(action);
    await clock.advance(5_000);
    let over = false;
    void audits.drained().then(() => {
      over = true;
    });
    await clock.advance(0);
    expect(over).toBe(true);
    expect(lost()).toEqual(['halt', 'resolve']);
  });
});

describe('issue: An account full of unknown commands could place on after two processes died in a row.', () => {
  const account = { kind: 'account', accountId: 'acct-1' } as const;

  /** Two places whose holder is gone while they are sent. `beside`: another process of before. */
  async function leftInFlight(haltAt: { account: number; service: number }, beside?: CommandRig) {
    const gone = await CommandRig.leading({ haltAt }, beside);
    gone.entry.route = () => ({ answerMs: 1e9, result: { kind: 'accepted', answer: { status: 202 } } });
    for (const qty of ['1', '2'])
      void gone.commands.submit(gone.submission({ ...placeEquity, terms: { ...placeEquity.terms, qty } }));
    await gone.clock.advance(100);
    expect(gone.entry.sent).toHaveLength(2);
    return gone;
  }

  /** A process that commits its sweep, and ends before anything else. */
  async function sweepAndDie(
    { journal, clock }: CommandRig,
    epoch: bigint,
    haltAt: { account: number; service: number },
  ): Promise<void> {
    await journal.takeOver({ shard: 0, epoch }, clock.nowMs(), 120_000, haltAt);
    await clock.advance(5_000);
  }

  it.each([
    ['the account', { account: 2, service: 100 }, account],
    ['the service', { account: 100, service: 2 }, { kind: 'service' }],
  ] as const)(
    '%s is halted with the sweep, and what a person lifts is not raised anew',
    async (_what, haltAt, scope) => {
      const gone = await leftInFlight(haltAt);
      await sweepAndDie(gone, 2n, haltAt);
      await sweepAndDie(gone, 3n, haltAt);
      expect(gone.journal.halts).toMatchObject([{ cause: 'unresolved', scope }]);
      const next = new CommandRig({ haltAt }, gone, 14);
      await next.begin(4n);
      expect(next.commands.operator.halts.list()).toMatchObject([{ cause: 'unresolved', scope }]);
      await next.during(next.commands.operator.resume(scope, word));
      await next.clock.advance(1_000);
      const third = new CommandRig({ haltAt }, next, 15);
      await third.begin(5n);
      expect(third.commands.operator.halts.list(), 'a person has seen the same commands').toEqual([]);
    },
  );
});

describe('issue: An account full of unknown commands was not halted after a takeover that failed once.', () => {
  const haltAt = { account: 2, service: 100 };

  /** Two places whose holder is gone while they are sent. */
  async function leftInFlight() {
    const gone = await CommandRig.leading({ haltAt });
    gone.entry.route = () => ({ answerMs: 1e9, result: { kind: 'accepted', answer: { status: 202 } } });
    for (const qty of ['1', '2'])
      void gone.commands.submit(gone.submission({ ...placeEquity, terms: { ...placeEquity.terms, qty } }));
    await gone.clock.advance(100);
    expect(gone.entry.sent).toHaveLength(2);
    return new CommandRig({ haltAt }, gone);
  }

  /**
   * The sweep is committed, and then a read fails: that of what was swept, or that of the halts.
   * The shard's next try finds nothing to sweep any more.
   */
  it.each<JournalOperation>(['takeOver', 'activeHalts'])(
    'what an earlier try of the same takeover has swept counts where %s failed behind it',
    async (failing) => {
      const rig = await leftInFlight();
      const { hook } = rig.journal;
      for (const delayMs of [500, 3_000]) {
        rig.journal.hook = async (operation, transact) => {
          const result = await hook(operation, transact);
          if (operation === failing) throw new Error('the answer was lost');
          return result;
        };
        await expect(rig.begin(2n)).rejects.toThrow('lost');
        await rig.clock.advance(delayMs);
      }
      rig.journal.hook = hook;
      await rig.begin(2n);
      await rig.clock.advance(100);
      expect(rig.journal.halts).toMatchObject([{ cause: 'unresolved', scope: { kind: 'account' } }]);
      expect(rig.commands.operator.halts.list()).toHaveLength(1);
    },
  );

  it('a takeover behind one that has succeeded halts nothing again that a person let place', async () => {
    const rig = await leftInFlight();
    await rig.begin(2n);
    await rig.clock.advance(100);
    await rig.during(
      rig.commands.operator.resume(
        { kind: 'account', accountId: 'acct-1' },
        { by: 'ann', reason: 'looked', requestId: 'r' },
      ),
    );
    await rig.clock.advance(1_000);
    await rig.begin(2n);
    await rig.clock.advance(100);
    expect(rig.commands.operator.halts.list()).toEqual([]);
  });
});
