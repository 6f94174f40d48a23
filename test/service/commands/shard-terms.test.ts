import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import type { CommandBook } from '../../../src/service/commands/command-book.ts';
import {
  accepted,
  atCapacity,
  CommandRig,
  cancelWorking,
  failedLook,
  placeEquity,
  placePrediction,
  unknown,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';
import type { JournalOperation } from '../../support/commands/memory-journal.ts';

/** acct-<n> is of shard n. */
const shardOf = (accountId: string) => Number(accountId.slice('acct-'.length));
const never = new AbortController().signal;

function of<Request extends CommandRequest>(accountId: string, request: Request): Request {
  return { ...request, accountId };
}

const holding = (...shards: number[]) => CommandRig.leading({ shards, shardOf });

/** A second process, which holds these shards instead of the first one. */
function beside(rig: CommandRig, ...shards: number[]) {
  for (const shard of shards) rig.commands.end(shard);
  return CommandRig.leading({ shards, shardOf }, rig);
}

async function unknownPlace(rig: CommandRig, accountId: string): Promise<string> {
  rig.entry.scripts.push({ result: unknown });
  return (await rig.send(of(accountId, placeEquity))).commandId;
}

describe('a shard', () => {
  it('that is not held declines, and still answers a key that is known', async () => {
    const rig = await holding(1, 2);
    const submission = rig.submission(of('acct-2', placeEquity));
    const first = await rig.during(rig.commands.submit(submission));
    rig.commands.end(2);
    expect(await rig.declined(of('acct-2', placeEquity))).toBe('NOT_LEADER');
    expect(await rig.declined(of('acct-3', placeEquity)), 'never held').toBe('NOT_LEADER');
    expect((await rig.send(of('acct-1', placeEquity))).state).toBe('accepted');
    const again = await rig.during(rig.commands.submit(submission));
    if (first.kind !== 'journaled') throw new Error(first.code);
    expect(again).toMatchObject({ replayed: true, command: { commandId: first.command.commandId } });
  });

  it('that is lost while a command is in hand keeps its answer as evidence, and the others go on', async () => {
    const rig = await holding(1, 2);
    rig.entry.scripts.push({ result: accepted, answerMs: 1_000 });
    const asked = rig.commands.submit(rig.submission(of('acct-2', placeEquity)));
    await rig.clock.advance(100);
    const next = await beside(rig, 2);
    next.probes.answer = () => failedLook('x');
    expect((await rig.send(of('acct-1', placeEquity))).state).toBe('accepted');
    const result = await rig.during(asked);
    const commandId = result.kind === 'journaled' ? result.command.commandId : '';
    expect(rig.state(commandId)).toBe('unknown');
    expect(rig.codes(commandId)).toEqual(expect.arrayContaining(['taken_over', 'accepted']));
    expect([rig.commands.status().unresolved, next.commands.status().unresolved]).toEqual([0, 1]);
  });

  it('that is given away takes nothing new, and is quiet once what is in hand has ended', async () => {
    const rig = await holding(1, 2);
    rig.entry.scripts.push({ result: atCapacity, answerMs: 2_000 });
    const asked = rig.commands.submit(rig.submission(of('acct-2', placePrediction)));
    await rig.clock.advance(50);
    let quiet = false;
    const quiesced = rig.commands.quiesce(2, never).then(() => {
      quiet = true;
    });
    expect(await rig.declined(of('acct-2', placeEquity))).toBe('NOT_LEADER');
    expect((await rig.send(of('acct-1', placeEquity))).state).toBe('accepted');
    expect(quiet).toBe(false);
    await rig.during(quiesced);
    expect(rig.clock.monotonicMs()).toBeGreaterThanOrEqual(2_000);
    expect(await asked, 'no further attempt').toMatchObject({ command: { state: 'not_sent' } });
    const next = await beside(rig, 2);
    expect((await next.send(of('acct-2', placeEquity))).state).toBe('accepted');
  });

  it('that is given away does not begin what was being checked', async () => {
    const rig = await holding(2);
    rig.commit({ ...workingOrder, accountId: 'acct-2' });
    rig.journal.hook = async (operation, transact) => {
      if (operation === 'readOrder') await rig.clock.sleep(500);
      return transact();
    };
    const asked = rig.commands.submit(rig.submission(of('acct-2', cancelWorking)));
    await rig.clock.advance(50);
    await rig.commands.quiesce(2, never);
    expect(await rig.during(asked)).toMatchObject({ kind: 'declined', code: 'NOT_LEADER' });
    expect(rig.journal.commands.size).toBe(0);
  });

  it('that is given away is waited for no longer than until the signal', async () => {
    const rig = await holding(2);
    rig.entry.scripts.push({ result: accepted, answerMs: 60_000 });
    void rig.commands.submit(rig.submission(of('acct-2', placeEquity)));
    await rig.clock.advance(50);
    const enough = new AbortController();
    rig.clock.after(1_000, () => enough.abort());
    await rig.during(rig.commands.quiesce(2, enough.signal));
    expect(rig.clock.monotonicMs()).toBeLessThan(2_000);
  });

  it('that ends while it begins does not begin', async () => {
    const rig = new CommandRig({ shardOf });
    rig.lease.confirm(1n, rig.clock.monotonicMs());
    rig.journal.hook = async (operation, transact) => {
      if (operation === 'takeOver') await rig.clock.sleep(500);
      return transact();
    };
    const begun = rig.commands.begin({ shard: 1, epoch: 1n });
    await rig.clock.advance(100);
    rig.commands.end(1);
    await rig.during(begun);
    expect(rig.commands.status().leading).toBe(false);
    expect(await rig.declined(of('acct-1', placeEquity))).toBe('NOT_LEADER');
  });

  it('whose journal can not be read does not begin', async () => {
    const rig = new CommandRig({ shardOf });
    rig.journal.hook = async (operation, transact) => {
      if (operation === 'takeOver') throw new Error('no database');
      return transact();
    };
    await expect(rig.commands.begin({ shard: 1, epoch: 1n })).rejects.toThrow('no database');
    expect(rig.commands.status().leading).toBe(false);
  });

  it('that comes back with what was left follows it on', async () => {
    const rig = await holding(1, 2);
    const commandId = await unknownPlace(rig, 'acct-2');
    rig.commands.end(2);
    expect(rig.commands.status().unresolved).toBe(0);
    await rig.during(rig.commands.begin({ shard: 2, epoch: 2n }));
    rig.land(commandId, { accountId: 'acct-2' });
    await rig.clock.advance(100);
    expect(rig.state(commandId)).toBe('applied');
  });
});

describe('a shard that is gone', () => {
  it('leaves nothing behind, also of a command that was being journaled', async () => {
    const rig = await holding(1, 2);
    const left = await unknownPlace(rig, 'acct-2');
    rig.journal.hook = async (operation, transact) => {
      const result = await transact();
      if (operation === 'open') await rig.clock.sleep(500);
      return result;
    };
    const asked = rig.commands.submit(rig.submission(of('acct-2', placePrediction)));
    await rig.clock.advance(100);
    rig.commands.end(2);
    const answer = await rig.during(asked);
    expect(answer).toMatchObject({ kind: 'journaled', command: { state: 'open' } });
    await rig.clock.advance(60_000);
    const opened = answer.kind === 'journaled' ? answer.command.commandId : '';
    const { book } = rig.commands as unknown as { book: CommandBook };
    expect([book.get(left), book.get(opened), book.size]).toEqual([undefined, undefined, 0]);
    expect(rig.commands.status()).toMatchObject({ unresolved: 0 });
  });
});

describe('a shard beside others', () => {
  it('whose journal takes no writes holds up none of the others in a sweep', async () => {
    const rig = await holding(1, 2);
    let away = true;
    rig.journal.hook = async (operation, transact) => {
      if (operation === 'find' && away) throw new Error('no database');
      const result = await transact();
      if (operation === 'open') throw new Error('the answer was lost');
      return result;
    };
    for (const accountId of ['acct-1', 'acct-2'])
      expect(await rig.submit(of(accountId, placeEquity))).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    away = false;
    const { step } = rig.journal;
    rig.journal.step = (asked, fence) =>
      fence.shard === 1 ? new Promise(() => {}) : step.call(rig.journal, asked, fence);
    await rig.clock.advance(20_000);
    const states = [...rig.journal.commands.values()].map(({ shard, state }) => [shard, state]);
    expect(states.sort()).toEqual([
      [1, 'open'],
      [2, 'not_sent'],
    ]);
    expect(rig.entry.sent).toEqual([]);
  });

  it('that is given up in the middle of a sweep is not taken up by it', async () => {
    const haltAt = { account: 100, service: 100 };
    const first = await CommandRig.leading({ shards: [1, 2], shardOf, haltAt });
    const fits = await unknownPlace(first, 'acct-1');
    await unknownPlace(first, 'acct-2');
    first.commands.endAll();
    const rig = await CommandRig.leading({ shards: [1, 2], shardOf, maxWatched: 1, haltAt }, first);
    rig.land(fits, { accountId: 'acct-1' });
    await rig.clock.advance(100);
    let sweeps = 0;
    rig.journal.hook = async (operation, transact) => {
      const result = await transact();
      if (operation !== 'unresolved') return result;
      sweeps += 1;
      rig.commands.end(2);
      return result;
    };
    await rig.clock.advance(60_000);
    const { book } = rig.commands as unknown as { book: CommandBook };
    expect([book.size, sweeps > 0]).toEqual([0, true]);
    expect((await rig.send(of('acct-1', placeEquity))).state, 'what is left is followed whole').toBe('accepted');
  });
});

describe('a command by its id', () => {
  it('is waited for, asked about and resolved in the term of its shard', async () => {
    const rig = await holding(1, 2);
    const commandId = await unknownPlace(rig, 'acct-2');
    expect(rig.commands.nextProbe(commandId)).toMatchObject({ by: 'reference' });
    const waited = rig.commands.wait(commandId, 10_000);
    expect(await rig.during(rig.commands.operator.resolve(commandId, 'rejected', word))).toMatchObject({
      kind: 'done',
    });
    expect(await rig.during(waited)).toMatchObject({ state: 'rejected' });
  });

  it('of a shard that is not held is read from the journal, and resolved by its holder', async () => {
    const rig = await holding(1, 2);
    const commandId = await unknownPlace(rig, 'acct-2');
    const next = await beside(rig, 2);
    expect(rig.commands.nextProbe(commandId)).toBeUndefined();
    const waited = rig.commands.wait(commandId, 10_000);
    const resolve = (by: CommandRig) => rig.during(by.commands.operator.resolve(commandId, 'rejected', word));
    expect(await resolve(rig)).toMatchObject({
      code: 'NOT_LEADER',
    });
    expect(await resolve(next)).toMatchObject({ kind: 'done' });
    expect(await rig.during(waited)).toMatchObject({ state: 'rejected' });
  });

  it('is told of an order of another shard that carries its reference', async () => {
    const rig = await holding(1, 2);
    const commandId = await unknownPlace(rig, 'acct-2');
    const { commandId: _ours, ...foreign } = rig.landed(commandId, { accountId: 'acct-1' });
    rig.commit(foreign, { commandId });
    await rig.clock.advance(100);
    expect(rig.command(commandId)).toMatchObject({ shard: 2, state: 'conflict' });
  });
});

describe('a request for many accounts', () => {
  const everything = { kind: 'service', accountIds: ['acct-1', 'acct-2', 'acct-3'] } as const;
  const cancel = (rig: CommandRig, accountIds: readonly string[] = everything.accountIds) =>
    rig.during(rig.commands.cancelAll({ kind: 'service', accountIds }, { ...word, idempotencyKey: 'all' }));

  async function withOrders(...shards: number[]) {
    const rig = await holding(...shards);
    for (const shard of [1, 2, 3])
      rig.commit({ ...workingOrder, orderId: `order-${shard}`, accountId: `acct-${shard}` });
    return rig;
  }

  it('cancels in each shard that is held, and names the accounts of the others', async () => {
    const rig = await withOrders(1, 2);
    const result = await cancel(rig);
    expect(result).toMatchObject({
      ...{ kind: 'done', replayed: false, open: false },
      orders: [
        { orderId: 'order-1', result: { command: { state: 'accepted' } } },
        { orderId: 'order-2', result: { command: { state: 'accepted' } } },
      ],
      declined: [{ accountId: 'acct-3', code: 'NOT_LEADER' }],
    });
    const third = await CommandRig.leading({ shards: [3], shardOf }, rig);
    expect(await cancel(third, ['acct-3']), 'the same key').toMatchObject({
      ...{ replayed: false, open: false },
      orders: [{ orderId: 'order-3', result: { command: { state: 'accepted' } } }],
      declined: [],
    });
    expect(await cancel(rig), 'the record of the other process').toMatchObject({
      ...{ replayed: true, open: false, declined: [] },
      orders: [{ orderId: 'order-1' }, { orderId: 'order-2' }, { orderId: 'order-3' }],
    });
  });

  it('cancels nothing that came after the key was first seen, in a shard that had no account then either', async () => {
    const rig = await holding(1, 2);
    rig.commit({ ...workingOrder, accountId: 'acct-1' });
    await cancel(rig, ['acct-1']);
    rig.commit({ ...workingOrder, orderId: 'later', accountId: 'acct-2' });
    expect(await cancel(rig, ['acct-1', 'acct-2'])).toMatchObject({
      replayed: true,
      orders: [{ accountId: 'acct-1' }],
    });
    expect(rig.entry.sent).toHaveLength(1);
  });

  it('is declined as a whole where no shard of it is held', async () => {
    const rig = await withOrders(4);
    rig.commands.end(4);
    expect(await cancel(rig)).toMatchObject({ kind: 'declined', code: 'NOT_LEADER' });
  });

  it('goes on in the other shards where one can not be written', async () => {
    const rig = await withOrders(1, 2);
    rig.journal.hook = async (operation, transact) => {
      const before = rig.journal.cancelAlls.length;
      if (operation === 'openCancelAll' && before > 0) throw new Error('no database');
      return transact();
    };
    expect(await cancel(rig, ['acct-1', 'acct-2'])).toMatchObject({
      ...{ kind: 'done', open: true, orders: [{ accountId: 'acct-1' }] },
      declined: [{ accountId: 'acct-2', code: 'STORE_UNAVAILABLE' }],
    });
  });

  it('arms the timers of the shards that are held, and fires them', async () => {
    const rig = await withOrders(1, 2);
    const asked = { principal: 'desk', afterMs: 30_000, requestId: 'request-1' };
    const armed = await rig.during(rig.commands.cancelAfter({ ...asked, accountIds: ['acct-1', 'acct-2', 'acct-3'] }));
    const firesAtMs = rig.clock.nowMs() + 30_000;
    expect(armed).toMatchObject({ kind: 'done', accountIds: ['acct-1', 'acct-2'], firesAtMs });
    expect(armed).toMatchObject({ declined: [{ accountId: 'acct-3', code: 'NOT_LEADER' }] });
    const shown = async (state: string) =>
      (await rig.metrics.commands.cancelTimers.get()).values.find(({ labels }) => labels.state === state)?.value;
    expect(await shown('armed')).toBe(2);
    rig.commands.end(2);
    expect(await shown('armed')).toBe(1);
    await rig.clock.advance(40_000);
    expect(rig.entry.sent.map(({ request }) => request.accountId)).toEqual(['acct-1']);
    expect([await shown('armed'), await shown('overdue')]).toEqual([0, 0]);
  });

  it('arms no timer where one of the accounts may have none', async () => {
    const rig = await CommandRig.leading({ shards: [1, 2], shardOf, accounts: ['acct-1'] });
    const asked = { principal: 'desk', afterMs: 30_000, requestId: 'request-1', accountIds: ['acct-1', 'acct-2'] };
    expect(await rig.during(rig.commands.cancelAfter(asked))).toMatchObject({
      kind: 'declined',
      code: 'ACCOUNT_NOT_TRADED',
    });
    expect(rig.journal.armedTimers).toBe(0);
  });

  it('probes what the process follows', async () => {
    const rig = await holding(1, 2);
    const ids = [await unknownPlace(rig, 'acct-1'), await unknownPlace(rig, 'acct-2')];
    const report = await rig.during(rig.commands.probeNow({ dryRun: true }));
    expect(report).toMatchObject({ kind: 'done', report: { unresolved: 2, probes: 2 } });
    if (report.kind === 'done') expect(report.report.plan.flatMap(({ commands }) => commands)).toEqual(ids);
    const ofOne = (accountId: string) => rig.during(rig.commands.probeNow({ accountId, dryRun: true }));
    expect(await ofOne('acct-2')).toMatchObject({ report: { unresolved: 1 } });
    expect(await ofOne('acct-3')).toMatchObject({ kind: 'declined', code: 'NOT_LEADER' });
  });
});

describe('what there is once', () => {
  it('is the number of unknown commands that halts the service', async () => {
    const rig = await CommandRig.leading({ shards: [1, 2, 3], shardOf, haltAt: { account: 10, service: 3 } });
    for (const accountId of ['acct-1', 'acct-2']) await unknownPlace(rig, accountId);
    expect(rig.commands.operator.halts.list()).toEqual([]);
    await unknownPlace(rig, 'acct-3');
    expect(rig.commands.operator.halts.list()).toMatchObject([{ scope: { kind: 'service' }, cause: 'unresolved' }]);
    expect(await rig.declined(of('acct-1', placePrediction))).toBe('PLACING_HALTED');
  });

  it('are the figures, over all shards', async () => {
    const rig = await holding(1, 2);
    for (const accountId of ['acct-1', 'acct-2']) await unknownPlace(rig, accountId);
    await rig.clock.advance(6_000);
    expect(rig.commands.status()).toMatchObject({ leading: true, unresolved: 2 });
    const unresolved = async () =>
      (await rig.metrics.commands.unresolved.get()).values.find(({ labels }) => labels.kind === 'place')?.value;
    expect(await unresolved()).toBe(2);
    rig.commands.end(1);
    await rig.clock.advance(6_000);
    expect(await unresolved()).toBe(1);
    rig.commands.end(2);
    expect(await unresolved()).toBe(0);
  });

  it('is the budget of probes', async () => {
    const shards = Array.from({ length: 16 }, (_, shard) => shard);
    const rig = await CommandRig.leading({
      ...{ shards, shardOf, probes: { perSecond: 1, burst: 4 } },
      haltAt: { account: 100, service: 100 },
    });
    for (const shard of shards) await unknownPlace(rig, `acct-${shard}`);
    rig.probes.asked.length = 0;
    await rig.clock.advance(30_000);
    const accounts = new Set(rig.probes.asked.map(({ accountId }) => accountId));
    expect(rig.probes.asked.length).toBeLessThanOrEqual(34);
    expect(accounts.size, 'and each shard gets its turn').toBe(16);
  });

  it('is the budget of probes, of which a process has the part of its shards', async () => {
    let part = 0.5;
    const rig = await CommandRig.leading({
      ...{ shardOf: () => 0, part: () => part, probes: { perSecond: 2, burst: 8 } },
      haltAt: { account: 100, service: 100 },
    });
    for (let account = 0; account < 80; account += 1) await unknownPlace(rig, `acct-${account}`);
    const askedIn = async (ms: number) => {
      rig.probes.asked.length = 0;
      await rig.clock.advance(ms);
      return rig.probes.asked.length;
    };
    await rig.clock.advance(10_000);
    const half = await askedIn(20_000);
    part = 1;
    const all = await askedIn(20_000);
    expect([half >= 18 && half <= 21, all >= 36 && all <= 41], `${half} and ${all} reads in 20 s`).toEqual([
      true,
      true,
    ]);
  });

  it('is the room for commands: with more of them nothing is placed, in any shard', async () => {
    const rig = await CommandRig.leading({
      ...{ shards: [1, 2], shardOf, maxWatched: 4 },
      haltAt: { account: 100, service: 100 },
    });
    const place = (accountId: string, qty: number) => {
      rig.entry.scripts.push({ result: unknown });
      return rig.submit(
        of(accountId, { ...placeEquity, terms: { ...placeEquity.terms, qty: `${qty}` } } as typeof placeEquity),
      );
    };
    for (let qty = 1; qty <= 3; qty += 1) expect(await place('acct-1', qty)).toMatchObject({ kind: 'journaled' });
    expect(await place('acct-2', 1)).toMatchObject({ kind: 'journaled' });
    for (const accountId of ['acct-1', 'acct-2'])
      expect(await place(accountId, 5)).toMatchObject({ code: 'RATE_LIMITED' });
    rig.commands.end(1);
    expect(await place('acct-2', 5), 'the room of a shard that is gone').toMatchObject({ kind: 'journaled' });
  });

  it('lets 16 shards at rest ask nothing of the journal for minutes', async () => {
    const rig = await holding(...Array.from({ length: 16 }, (_, shard) => shard));
    await rig.clock.advance(1_000);
    const asked: JournalOperation[] = [];
    rig.journal.hook = async (operation, transact) => {
      asked.push(operation);
      return transact();
    };
    await rig.clock.advance(590_000);
    expect(asked).toEqual([]);
    await rig.clock.advance(590_000);
    expect(new Set(asked)).toEqual(new Set(['landings']));
    expect(asked).toHaveLength(16);
  });

  it("is the look at dead man's switches: one a second for 16 shards, and none once all are off", async () => {
    const shards = Array.from({ length: 16 }, (_, shard) => shard);
    const rig = await holding(...shards);
    const asked = { principal: 'desk', requestId: 'request-1', accountIds: shards.map((shard) => `acct-${shard}`) };
    await rig.during(rig.commands.cancelAfter({ ...asked, afterMs: 3_600_000 }));
    const looksIn = async (ms: number) => {
      let looks = 0;
      rig.journal.hook = async (operation, transact) => {
        looks += 1;
        expect(operation).toBe('armedCancelTimers');
        return transact();
      };
      await rig.clock.advance(ms);
      rig.journal.hook = (_operation, transact) => transact();
      return looks;
    };
    expect(await looksIn(60_000)).toBe(60);
    await rig.during(rig.commands.cancelAfter({ ...asked, afterMs: 0 }));
    await rig.clock.advance(2_000);
    expect(await looksIn(60_000)).toBe(0);
  });
});
