// What a user saw: A place was sent to the venue after the answer to a halt had said that placing is halted.

import { describe, expect, it } from 'vitest';
import {
  atCapacity,
  CommandRig,
  cancelWorking,
  placePrediction,
  replaceWorking,
  unknown,
  word,
  workingOrder,
} from '../../../support/commands/command-rig.ts';

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
