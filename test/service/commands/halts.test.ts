import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import {
  CommandRig,
  cancelWorking,
  placeEquity,
  unknown,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';

const account = { kind: 'account', accountId: 'acct-1' } as const;
const service = { kind: 'service' } as const;

function placeOf(qty: number, accountId = 'acct-1'): CommandRequest {
  return { ...placeEquity, accountId, terms: { ...placeEquity.terms, qty: String(qty) } };
}

async function doubtful(rig: CommandRig, qty: number, accountId?: string) {
  rig.entry.scripts.push({ result: unknown });
  return (await rig.send(placeOf(qty, accountId))).commandId;
}

describe('unresolved commands', () => {
  it('halt their account at the third, and let cancels pass', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    await doubtful(rig, 1);
    await doubtful(rig, 2);
    expect(rig.commands.operator.halts.list()).toEqual([]);
    await doubtful(rig, 3);
    expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'unresolved', scope: account }]);
    expect(await rig.declined(placeOf(4))).toBe('PLACING_HALTED');
    expect((await rig.send(placeOf(4, 'acct-2'))).state).toBe('accepted');
    expect((await rig.send(cancelWorking)).state).toBe('accepted');
  });

  it('halt the service at the tenth', async () => {
    const rig = await CommandRig.leading();
    for (let i = 1; i <= 9; i += 1) await doubtful(rig, i, `acct-${i}`);
    expect(rig.commands.operator.halts.list()).toEqual([]);
    await doubtful(rig, 10, 'acct-10');
    expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'unresolved', scope: service }]);
    expect(await rig.declined(placeOf(1, 'acct-11'))).toBe('PLACING_HALTED');
  });

  it('that become so at the same moment halt as well', async () => {
    const rig = await CommandRig.leading();
    for (let i = 0; i < 3; i += 1) rig.entry.scripts.push({ result: unknown });
    await rig.during(Promise.all([1, 2, 3].map((qty) => rig.commands.submit(rig.submission(placeOf(qty))))));
    expect(rig.commands.operator.halts.list()).toHaveLength(1);
  });

  it('that are only in flight do not halt', async () => {
    const rig = await CommandRig.leading();
    await rig.during(Promise.all([1, 2, 3, 4].map((qty) => rig.commands.submit(rig.submission(placeOf(qty))))));
    expect(rig.commands.operator.halts.list()).toEqual([]);
  });

  it('that a takeover finds halt too', async () => {
    const rig = await CommandRig.leading();
    for (const qty of [1, 2, 3]) {
      rig.entry.scripts.push({ result: unknown, answerMs: 60_000 });
      void rig.commands.submit(rig.submission(placeOf(qty)));
    }
    await rig.clock.advance(100);
    const next = await CommandRig.leading({}, rig);
    expect(next.commands.operator.halts.list()).toMatchObject([{ cause: 'unresolved', scope: account }]);
    await rig.clock.advance(10);
    expect(rig.journal.halts).toHaveLength(1);
  });

  it('do not overrule a person by a restart, but by a fourth', async () => {
    const rig = await CommandRig.leading();
    for (const qty of [1, 2, 3]) await doubtful(rig, qty);
    await rig.during(rig.commands.operator.resume(account, word));
    await rig.clock.advance(100);
    rig.commands.endAll();
    const next = await CommandRig.leading({}, rig);
    expect(next.commands.operator.halts.list()).toEqual([]);
    await doubtful(next, 4);
    expect(next.commands.operator.halts.list()).toHaveLength(1);
  });

  it('that resolve do not end a halt: only a person does', async () => {
    const rig = await CommandRig.leading();
    const ids = [await doubtful(rig, 1), await doubtful(rig, 2), await doubtful(rig, 3)];
    for (const id of ids) rig.land(id);
    await rig.clock.advance(1_000);
    expect(ids.map((id) => rig.state(id))).toEqual(['applied', 'applied', 'applied']);
    expect(rig.commands.operator.halts.list()).toHaveLength(1);
  });

  it('of all processes halt the service, and each of them says so when it has looked', async () => {
    const shardOf = (accountId: string) => Number(accountId.slice(-1)) % 2;
    const haltAt = { account: 10, service: 2 };
    const one = await CommandRig.leading({ shards: [1], shardOf, haltAt });
    const two = await CommandRig.leading({ shards: [0], shardOf, haltAt }, one);
    await doubtful(one, 1, 'acct-1');
    await doubtful(two, 1, 'acct-2');
    expect(two.commands.operator.halts.list()).toMatchObject([{ cause: 'unresolved', scope: service }]);
    const late = await one.send(placeOf(2, 'acct-1'));
    expect(late, 'the journal does not let it be sent').toMatchObject({
      state: 'not_sent',
      reason: { code: 'PLACING_HALTED' },
    });
    await one.commands.start();
    await one.clock.advance(1_000);
    expect(await one.declined(placeOf(3, 'acct-1'))).toBe('PLACING_HALTED');
    await one.commands.drain(new AbortController().signal);
  });
});

describe('the breaker', () => {
  it('halts the account to cancels only, until a person resumes it', async () => {
    const rig = await CommandRig.leading({
      breaker: { count: 5, windowMs: 1_000 },
      rate: { perSecond: 100, burst: 100 },
    });
    rig.commit(workingOrder);
    for (let qty = 1; qty <= 5; qty += 1) await rig.send(placeOf(qty));
    expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'rate', scope: account }]);
    await rig.clock.advance(60_000);
    expect(await rig.declined(placeOf(6))).toBe('PLACING_HALTED');
    expect((await rig.send(cancelWorking)).state).toBe('accepted');
    await rig.during(rig.commands.operator.resume(account, word));
    expect((await rig.send(placeOf(6))).state).toBe('accepted');
  });
});

describe('an operator', () => {
  it('halts and resumes with a reason, on record, over a restart', async () => {
    const rig = await CommandRig.leading();
    expect(await rig.during(rig.commands.operator.halt(service, word))).toMatchObject({
      kind: 'done',
      halts: [{ cause: 'operator', by: 'olga' }],
    });
    rig.commands.endAll();
    const next = await CommandRig.leading({}, rig);
    expect(await next.declined(placeEquity)).toBe('PLACING_HALTED');
    expect(await next.during(next.commands.operator.resume(service, word))).toEqual({ kind: 'done', halts: [] });
    expect((await next.send(placeEquity)).state).toBe('accepted');
    await next.clock.advance(10);
    expect(rig.journal.audits.map(({ action, principal }) => [action, principal])).toEqual([
      ['halt', 'olga'],
      ['resume', 'olga'],
      ['place', 'desk'],
    ]);
  });

  it('resumes an account without touching a halt of the service', async () => {
    const rig = await CommandRig.leading();
    await rig.during(rig.commands.operator.halt(service, word));
    await rig.during(rig.commands.operator.halt(account, word));
    await rig.during(rig.commands.operator.resume(account, word));
    expect(rig.commands.operator.halts.list()).toMatchObject([{ scope: service }]);
  });

  it('is told of every halt that is in force then, not of the one that was asked for alone', async () => {
    const rig = await CommandRig.leading();
    await rig.during(rig.commands.operator.halt(service, word));
    expect(await rig.during(rig.commands.operator.halt(account, word))).toMatchObject({
      halts: [{ scope: service }, { scope: account }],
    });
    expect(await rig.during(rig.commands.operator.resume(account, word))).toMatchObject({
      halts: [{ scope: service }],
    });
  });

  it('is told when the database is away, and a halt holds all the same', async () => {
    const rig = await CommandRig.leading();
    rig.journal.hook = async (operation, transact) => {
      if (operation === 'raiseHalt' || operation === 'clearHalts') throw new Error('no database');
      return transact();
    };
    expect(await rig.during(rig.commands.operator.halt(service, word))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('the halt holds in this process all the same'),
    });
    expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
    expect(await rig.during(rig.commands.operator.resume(service, word))).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
  });

  it('sees the halts of the holder on a process that stands by', async () => {
    const rig = await CommandRig.leading();
    await rig.during(rig.commands.operator.halt(service, word));
    const standby = new CommandRig({}, rig);
    await standby.commands.start();
    await standby.clock.advance(10);
    expect(standby.commands.operator.halts.list()).toHaveLength(1);
    await standby.commands.drain(new AbortController().signal);
  });

  it('halts all processes at any of them, also at one that holds nothing, and resumes at one that holds something', async () => {
    const shardOf = (accountId: string) => (accountId === placeEquity.accountId ? 1 : 2);
    const rig = await CommandRig.leading({ shards: [1], shardOf });
    const second = await CommandRig.leading({ shards: [2], shardOf }, rig);
    const none = new CommandRig({ shardOf }, rig);
    for (const { commands } of [rig, second, none]) await commands.start();
    const ofSecond = { ...placeEquity, accountId: 'acct-2' };
    const places = async () => [await rig.submit(placeEquity), await second.submit(ofSecond)].map(({ kind }) => kind);
    expect(await places()).toEqual(['journaled', 'journaled']);

    expect(await rig.during(none.commands.operator.halt(service, word))).toMatchObject({
      kind: 'done',
      halts: [{ by: word.by }],
    });
    await rig.clock.advance(1_100);
    for (const result of [await rig.submit(placeEquity), await second.submit(ofSecond)])
      expect(result).toMatchObject({ kind: 'declined', code: 'PLACING_HALTED' });

    expect(await none.commands.operator.resume(service, word)).toMatchObject({ kind: 'declined', code: 'NOT_LEADER' });
    expect(await rig.during(second.commands.operator.resume(service, word))).toMatchObject({ kind: 'done', halts: [] });
    await rig.clock.advance(1_100);
    expect(await places()).toEqual(['journaled', 'journaled']);
    expect(none.commands.operator.halts.list()).toEqual([]);
    for (const { commands } of [rig, second, none]) await commands.drain(new AbortController().signal);
  });

  it.each(['applied', 'rejected', 'not_sent', 'moot'] as const)(
    'resolves an unknown command as %s, on record',
    async (result) => {
      const rig = await CommandRig.leading();
      const id = await doubtful(rig, 1);
      expect(await rig.during(rig.commands.operator.resolve(id, result, word))).toMatchObject({
        kind: 'done',
        command: { state: result },
      });
      expect(rig.evidence(id).at(-1)).toMatchObject({
        kind: 'person',
        detail: { result, by: 'olga', reason: word.reason },
      });
      expect(await rig.during(rig.commands.operator.resolve(id, 'moot', word))).toMatchObject({
        code: 'ALREADY_RESOLVED',
      });
      expect(rig.journal.audits.at(-1)).toMatchObject({ action: 'resolve', commandId: id });
    },
  );

  it('who resolved a place as never sent is told when it lands after all', async () => {
    const rig = await CommandRig.leading();
    const id = await doubtful(rig, 1);
    await rig.during(rig.commands.operator.resolve(id, 'not_sent', word));
    rig.land(id);
    await rig.clock.advance(10);
    expect(rig.state(id)).toBe('applied');
    expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'late_landing' }]);
  });

  it('resolves nothing that is not there', async () => {
    const rig = await CommandRig.leading();
    expect(await rig.during(rig.commands.operator.resolve('nope', 'applied', word))).toMatchObject({
      code: 'COMMAND_NOT_FOUND',
    });
  });
});

describe('cancel-all', () => {
  it('cancels every open order of the account, a command each, and is repeated harmlessly', async () => {
    const rig = await CommandRig.leading();
    for (const orderId of ['a', 'b', 'c']) rig.commit({ ...workingOrder, orderId });
    rig.commit({ ...workingOrder, orderId: 'd', status: 'filled' });
    rig.commit({ ...workingOrder, orderId: 'e', accountId: 'acct-2' });
    await rig.during(rig.commands.operator.halt(service, word));
    const all = () => rig.during(rig.commands.cancelAll(account, { ...word, idempotencyKey: 'all' }));
    const first = await all();
    if (first.kind !== 'done') throw new Error(first.message);
    expect(first.orders.map(({ orderId, result }) => [orderId, result?.kind])).toEqual(
      ['a', 'b', 'c'].map((id) => [id, 'journaled']),
    );
    expect(rig.entry.sent.map(({ request }) => request.kind)).toEqual(['cancel', 'cancel', 'cancel']);
    const again = await all();
    expect(
      again.kind === 'done' && again.orders.every(({ result }) => result?.kind === 'journaled' && result.replayed),
    ).toBe(true);
    expect(rig.entry.sent).toHaveLength(3);
  });

  it('is declined as a whole where nothing may be sent', async () => {
    const idempotencyKey = 'all';
    expect(await new CommandRig().commands.cancelAll(account, { ...word, idempotencyKey })).toMatchObject({
      code: 'NOT_LEADER',
    });
    const rig = await CommandRig.leading({ accounts: ['acct-2'] });
    expect(await rig.commands.cancelAll(account, { ...word, idempotencyKey })).toMatchObject({
      code: 'ACCOUNT_NOT_TRADED',
    });
  });
});
