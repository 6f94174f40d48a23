import { describe, expect, it } from 'vitest';
import { parseCancelAll, parsePlaceAccount } from '../../../src/contract/command-bodies.ts';
import { parseLimitsChange } from '../../../src/contract/limit-bodies.ts';
import type { CommandRequest } from '../../../src/domain/command.ts';
import { canonicalRequest } from '../../../src/domain/command-checks.ts';
import { isSelected } from '../../../src/domain/select-orders.ts';
import type { ExchangeOrder } from '../../../src/sandbox/exchange/exchange-order.ts';
import type { SubmitCommand } from '../../../src/service/commands/submit-command.ts';
import { CommandTraces } from '../../../src/service/commands/trace-commands.ts';
import { bindOrder, referenceOf, referenceToBind } from '../../../src/service/orders/load-known.ts';
import type { CommandJournal } from '../../../src/store/commands/command-journal.ts';
import type { HttpResult } from '../../../src/venue/http.ts';
import { noStreamFaults } from '../../simulation/plan/stream-faults.ts';
import {
  accepted,
  CommandRig,
  cancelWorking,
  placeEquity,
  placePrediction,
  RigEntry,
  replaceWorking,
  unknown,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';
import { CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';
import { newPlace } from '../../support/commands/journal-fixtures.ts';
import type { JournalOperation } from '../../support/commands/memory-journal.ts';
import { rigJournal } from '../../support/commands/rig-journal.ts';
import { equityView, predictionView } from '../../support/orders/arbitrary-orders.ts';
import { TraceRig } from '../../support/rest/trace-rig.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

describe('issue: A place waited for three commits of the database before it had its answer.', () => {
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
      const result = {
        kind: 'not_sent',
        reason: { code: 'NO_CREDENTIAL', message: 'none' },
        mayRepeat: false,
      } as const;
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

    it('is resolved so too when the database is away for an hour in between', async () => {
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

    // What another replace of the order came to would resolve it (seed 1028 of the simulator).
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
});

describe("issue: A place whose answer had a null reference was unknown, though it named the order's id.", () => {
  type Fields = Record<string, unknown>;

  /** The answer with these fields; one that is undefined is left out. */
  const reworded = (change: (world: CommandWorld) => Fields) => (world: CommandWorld) => (plain: HttpResult) => {
    if (plain.kind !== 'answered') throw new Error('the write was not done');
    const body: Fields = JSON.parse(plain.text);
    Object.assign((body['data'] as Fields | undefined) ?? body, change(world));
    return { ...plain, text: JSON.stringify(body) };
  };
  const newest = ({ exchange }: CommandWorld): ExchangeOrder => {
    const order = [...exchange.orders.values()].at(-1);
    if (order === undefined) throw new Error('there is no order');
    return order;
  };
  /** No row of it, in lists and on the stream, has a reference. */
  function unreferenced({ exchange }: CommandWorld): void {
    const open = exchange.open.bind(exchange);
    exchange.open = (terms, ...rest) => {
      const { clientOrderRef: _none, ...others } = terms;
      return open({ ...others, ...(terms.stream === 'account' && { clOrdId: '' }) }, ...rest);
    };
  }

  const nothings: readonly unknown[] = [null, '', undefined];
  const byId = reworded((world) => ({ clOrdId: null, status: null, ordId: newest(world).terms.orderId }));

  describe('an answer to our own write that names the order by its id alone', () => {
    it.each(nothings)('is about our order: reference %j, on both streams', async (none) => {
      for (const request of [equity, prediction]) {
        const world = await CommandWorld.start();
        unreferenced(world);
        const answer = reworded((it) =>
          request === equity
            ? { clOrdId: none, status: none, ordId: newest(it).terms.orderId }
            : { clientOrderRef: none, state: none },
        );
        world.script({ applied: 'yes', answer: answer(world) });
        const { commandId, state } = await world.send(request);
        expect(state).not.toBe('unknown');
        await world.until(() => world.command(commandId).state === 'applied', 1_000);
        const order = newest(world);
        expect(world.command(commandId).orderId).toBe(order.terms.orderId);
        expect(world.stored(order)).toMatchObject({ origin: 'tidemark', commandId });
      }
    });

    it('is about our order where it spells the terms in another way', async () => {
      const world = await CommandWorld.start();
      const { symbol, side, qty } = equity.terms;
      const spelt = { symbol: ` ${symbol.toLowerCase()} `, side: side.toLowerCase(), qty: `${qty}.00` };
      const answer = reworded((it) => ({ clOrdId: null, ordId: newest(it).terms.orderId, ...spelt }));
      world.script({ applied: 'yes', answer: answer(world) });
      expect((await world.send(equity)).state).not.toBe('unknown');
    });

    it('binds nothing to an order whose rows have another reference', async () => {
      const world = await CommandWorld.start();
      const open = world.exchange.open.bind(world.exchange);
      world.exchange.open = (terms, ...rest) => open({ ...terms, clOrdId: 'somebody-1' }, ...rest);
      world.script({ applied: 'yes', answer: byId(world) });
      const { commandId } = await world.send(equity);
      await world.pass(5_000);
      expect(world.command(commandId)).toMatchObject({ state: 'accepted' });
      expect(world.stored(newest(world)).origin).toBe('external');
    });

    it('is about another order where its account or side is another, and then unknown', async () => {
      for (const other of [{ accountId: 'acct-9' }, { side: 'SELL' }]) {
        const world = await CommandWorld.start();
        const answer = reworded((it) => ({ clOrdId: null, ordId: newest(it).terms.orderId, ...other }));
        world.script({ applied: 'yes', answer: answer(world) });
        const { commandId, reason } = await world.send(equity);
        expect(reason).toMatchObject({ code: 'BAD_ANSWER', message: 'the answer is about another order' });
        await world.until(() => world.command(commandId).state === 'applied', 1_000);
      }
    });
  });

  describe('an answer without our reference that names another order of the account', () => {
    it.each([equity, prediction])('is no word about ours: $stream', async (request) => {
      const world = await CommandWorld.start();
      const id = request === equity ? 'ordId' : 'orderId';
      const other = {
        ...request,
        terms: { ...request.terms, ...(request === equity ? { qty: '7' } : { quantity: '7' }) },
      };
      const { order } = await world.working(other as typeof request);
      const amount = request === equity ? { qty: '7' } : { quantity: '7' };
      const answer = reworded(() => ({ clOrdId: null, clientOrderRef: null, [id]: order.terms.orderId, ...amount }));
      world.script({ applied: 'yes', answer: answer(world) });
      const { commandId, reason } = await world.send(request);
      expect(reason).toMatchObject({ message: 'the answer does not name the order' });
      await world.until(() => world.command(commandId).state === 'applied', 1_000);
      expect(world.command(commandId).orderId).not.toBe(order.terms.orderId);
    });
  });

  describe('an answer to our own write that names the order in no way', () => {
    const unnamed = reworded(() => ({ clOrdId: null, status: null }));

    it('is no evidence: the order that the stream shows resolves the place', async () => {
      const world = await CommandWorld.start();
      world.script({ applied: 'yes', answer: unnamed(world) });
      const { commandId } = await world.send(equity);
      await world.until(() => world.command(commandId).state === 'applied', 100);
    });

    it('is read at once where the stream shows nothing', async () => {
      const world = await CommandWorld.start();
      const { stream } = world.simulated.platform;
      stream.faults = { ...noStreamFaults, silentLoss: 1 };
      world.script({ applied: 'yes', answer: unnamed(world) });
      const { commandId, state, reason } = await world.send(equity);
      expect([state, reason]).toMatchObject(['unknown', { message: 'the answer does not name the order' }]);
      await world.until(() => world.command(commandId).state === 'applied', 1_000);
      stream.faults = noStreamFaults;
    });
  });
});

describe("issue: One reference in two spellings was two orders, and ours in capitals was another's.", () => {
  const body = {
    ...{ accountId: 'acct-1', symbol: 'AAPL', side: 'BUY', type: 'MARKET', qty: '1', timeInForce: 'DAY' },
    clientId: 'café-7',
  };

  /** What the idempotency key compares, and what `TIDEMARK_CALLER_REF=unique` does. */
  function formsOf(clientId: unknown): { readonly hash: string; readonly callerRef: string | undefined } {
    const parsed = parsePlaceAccount({ ...body, clientId });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
    const { accountId, terms, callerRef } = parsed;
    return {
      hash: canonicalRequest({ request: { kind: 'place', stream: 'account', accountId, terms }, callerRef }),
      callerRef,
    };
  }

  describe('a reference of a caller', () => {
    it.each(['café-7'.normalize('NFD'), ' café-7', 'café-7  ', '\u00a0café-7\u2003'])(
      'is one in the spelling %j',
      (spelled) => {
        expect(formsOf(spelled)).toEqual(formsOf('café-7'));
        const selected = parseCancelAll({ reason: 'over', reference: spelled });
        expect(selected).toMatchObject({ ok: true, only: { reference: 'café-7' } });
      },
    );

    it.each(['cafe-7', 'CAFÉ-7', 'café-\u06f7', 'c\u0430fé-7', 'café 7'])('stays another one as %j', (other) => {
      expect(formsOf(other).callerRef).toBe(other);
      expect(formsOf(other).hash).not.toBe(formsOf('café-7').hash);
    });

    it.each(['', '  ', '\u2003', null])('is none as %j', (none) => {
      expect(formsOf(none)).toEqual(formsOf(null));
      expect(formsOf(none).callerRef).toBeUndefined();
    });
  });

  describe('our own reference on an order', () => {
    const attemptId = 'tm-01999f00-0000-7000-8000-00000000000a';
    const binding = { commandId: 'c', stream: 'account', accountId: 'acct-1', side: equityView.side } as const;

    it('is ours in capitals too, and ties the order to its attempt', () => {
      for (const spelled of [
        attemptId,
        attemptId.toUpperCase(),
        `TM${attemptId.slice(2)}`,
        `Tm${attemptId.slice(2)}`,
      ]) {
        const view = { ...equityView, accountId: 'acct-1', clOrdId: spelled };
        expect(referenceOf(view)).toBe(attemptId);
        expect(referenceToBind(undefined, { view: { ...predictionView, clientOrderRef: spelled } })).toBe(attemptId);
        expect(bindOrder(view, attemptId, binding)).toMatchObject({ row: { matches: true } });
      }
      for (const foreign of ['xtm-1', 'TM-1', `x${attemptId.toUpperCase()}`, undefined]) {
        const { clOrdId: _none, ...view } = equityView;
        expect(referenceOf({ ...view, ...(foreign !== undefined && { clOrdId: foreign }) })).toBeUndefined();
      }
    });
  });

  describe('a cancel-all of a symbol', () => {
    const of = (stream: 'account' | 'prediction', symbol: string) =>
      ({ stream, symbol, side: 'buy', references: [] }) as const;

    it('reaches an order whose share class the platform writes in another way, and no other market', () => {
      for (const shown of ['BRK/B', 'BRK.B', 'BRKB', 'brk b'])
        expect(isSelected(of('account', shown), { symbol: 'BRK.B' }), shown).toBe(true);
      expect(isSelected(of('account', 'BRK.A'), { symbol: 'BRK.B' })).toBe(false);
      expect(isSelected(of('prediction', 'T3.5'), { symbol: 'T35' })).toBe(false);
      expect(isSelected(of('prediction', 't35'), { symbol: 'T35' })).toBe(true);
    });
  });

  /** A limit for such a name limited nothing, and a cancel-all of its orders found none. */
  describe('a principal that no caller can be', () => {
    it.each(['robot ', ' robot', 'ro bot', 'rоbot', 'robot\u200b', 'röbot', ''])('is refused: %j', (principal) => {
      const limits = parseLimitsChange({ principal, bounds: { maxQuantity: '1' }, reason: 'slow' });
      expect(limits).toMatchObject({ ok: false, faults: [{ path: 'principal' }] });
      expect(parseCancelAll({ reason: 'over', principal })).toMatchObject({
        ok: false,
        faults: [{ path: 'principal' }],
      });
    });

    it.each(['robot', 'Robot_1.x-y', 'jwt:https://id.example/#auth0|7', 'jwt:https://id.example#a@b'])(
      'is none of these: %s',
      (principal) => {
        expect(parseLimitsChange({ principal, bounds: { maxQuantity: '1' }, reason: 'slow' })).toMatchObject({
          ok: true,
          scope: { principal },
        });
        expect(parseCancelAll({ reason: 'over', principal })).toMatchObject({ ok: true, only: { principal } });
      },
    );
  });
});

describe('issue: A caller that had lost its own database placed an order twice under the same reference.', () => {
  // A caller that lost its own store gives a new key to an order that it has placed before. Its
  // reference is what it still knows, and nothing asked about it.
  it('a reference names one command of its principal where it is said to be unique, and takes no turn of the rate when it is refused', async () => {
    const rig = await CommandRig.leading({ callerRefOnce: true, rate: { perSecond: 1, burst: 3 } });
    const first = await rig.send(placeEquity, { callerRef: 'mine-1' });
    for (let i = 0; i < 5; i += 1)
      expect(await rig.declined(placeEquity, { callerRef: 'mine-1' })).toBe('CALLER_REF_REUSED');
    expect(await rig.declined(placePrediction, { callerRef: 'mine-1' }), 'whatever it is about').toBe(
      'CALLER_REF_REUSED',
    );
    expect(rig.entry.sent).toHaveLength(1);
    await rig.send(placePrediction, { callerRef: 'mine-1', principal: 'another' });
    await rig.send(placePrediction, { callerRef: 'mine-2' });
    const again = { callerRef: 'mine-1', idempotencyKey: first.idempotencyKey };
    expect(await rig.submit(placeEquity, again)).toMatchObject({ kind: 'journaled', replayed: true });
  });

  it('a reference may name many commands otherwise', async () => {
    const rig = await CommandRig.leading();
    await rig.send(placeEquity, { callerRef: 'bot' });
    await rig.send(placePrediction, { callerRef: 'bot' });
    expect(rig.entry.sent).toHaveLength(2);
  });
});

describe('issue: The trace of a command whose write or submission failed lacked just that part.', () => {
  const fence = { shard: 0, epoch: 1n };
  const fails = (..._call: unknown[]): Promise<never> => Promise.reject(new Error('it broke'));

  function traced() {
    const clock = new VirtualClock(1_000);
    const rig = new TraceRig(clock);
    const journal = rigJournal(clock);
    const entry = new RigEntry(clock);
    return { rig, journal, entry, traces: new CommandTraces(rig.tracing) };
  }

  /** Each span around a port, and a call of it. */
  const calls = {
    'journal command': ({ traces, journal, entry }) =>
      traces.around({ journal: Object.assign(journal, { open: fails }), entry }).journal.open(newPlace(), fence),
    'platform place': ({ traces, journal }) => {
      const options = { mayWrite: async () => true, mayStillWrite: () => true, signal: new AbortController().signal };
      return traces.around({ journal, entry: { send: fails } }).entry.send(placeEquity, 'tm-1', options as never);
    },
    'command place': ({ traces }) => {
      const submitter = { submit: fails } as unknown as SubmitCommand;
      const submission = { principal: 'desk', idempotencyKey: 'k', requestId: 'r', request: placeEquity };
      return traces.aroundSubmit(submitter).submit(submission, undefined as never);
    },
    'command evidence': ({ traces, rig, journal, entry }) => {
      rig.tracing.rememberCommand('c', rig.tracing.begin('caller').context);
      const evidence = { kind: 'read', code: 'missed', detail: {}, atMs: 1 } as const;
      const around = traces.around({ journal: Object.assign(journal, { noteMisses: fails }), entry });
      return around.journal.noteMisses([{ commandId: 'c', version: 1, evidence }], fence);
    },
  } satisfies Record<string, (of: ReturnType<typeof traced>) => Promise<unknown>>;

  it.each(Object.entries(calls))('%s ends as a failure where its call rejects', async (name, call) => {
    const of = traced();
    await expect(call(of)).rejects.toThrow('it broke');
    expect(of.rig.named(name).status).toMatchObject({ code: 2, message: 'no answer' });
  });

  it('the write of a whole command ends too where the entry rejects', async () => {
    const made: TraceRig[] = [];
    const tracing = (clock: VirtualClock) => {
      const rig = new TraceRig(clock);
      made.push(rig);
      return rig.tracing;
    };
    const rig = await CommandRig.leading({ tracing });
    rig.entry.send = fails;
    void rig.commands.submit(rig.submission(placeEquity)).catch(() => undefined);
    await rig.clock.advance(60_000);
    expect(made[0]?.names).toContain('platform place');
  });

  it('a method that is not traced is one function, however often it is looked up', () => {
    const { traces, journal, entry } = traced();
    const around: CommandJournal = traces.around({ journal, entry }).journal;
    expect(around.find).toBe(around.find);
    const other = async () => undefined;
    journal.find = other;
    expect(around.find).not.toBe(other);
    expect(around.find('c')).toBeInstanceOf(Promise);
  });
});
