// What a user saw: An account full of unknown commands could place on after two processes died in a row.

import { expect, it } from 'vitest';
import { CommandRig, placeEquity, word } from '../../../support/commands/command-rig.ts';

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
async function sweepAndDie({ journal, clock }: CommandRig, epoch: bigint): Promise<void> {
  await journal.takeOver({ shard: 0, epoch }, clock.nowMs(), 120_000);
  await clock.advance(5_000);
}

async function takesOver(haltAt: { account: number; service: number }, beside: CommandRig, epoch: bigint) {
  const rig = new CommandRig({ haltAt }, beside, Number(epoch) + 10);
  await rig.begin(epoch);
  await rig.clock.advance(100);
  return rig;
}

it.each([
  ['the account', { account: 2, service: 100 }, account],
  ['the service', { account: 100, service: 2 }, { kind: 'service' }],
] as const)('the next holder halts %s for what was swept, once', async (_what, haltAt, scope) => {
  const gone = await leftInFlight(haltAt);
  await sweepAndDie(gone, 2n);
  await sweepAndDie(gone, 3n);
  expect(gone.journal.halts).toEqual([]);
  const next = await takesOver(haltAt, gone, 4n);
  expect(next.journal.halts).toMatchObject([{ cause: 'unresolved', scope }]);
  await next.during(next.commands.operator.resume(scope, word));
  await next.clock.advance(1_000);
  const third = await takesOver(haltAt, next, 5n);
  expect(third.commands.operator.halts.list(), 'a person has seen the same commands').toEqual([]);
});

it('a halt that the former holder raised, and a person lifted, is not raised anew', async () => {
  const haltAt = { account: 2, service: 2 };
  const gone = await leftInFlight(haltAt);
  const former = await takesOver(haltAt, gone, 2n);
  expect(former.journal.halts).toHaveLength(2);
  for (const scope of [account, { kind: 'service' }] as const)
    await former.during(former.commands.operator.resume(scope, word));
  await former.clock.advance(60_000);
  const next = await takesOver(haltAt, former, 3n);
  expect(next.commands.operator.halts.list()).toEqual([]);
});

it('a holder that died between the halt of the account and that of the service leaves the second to the next', async () => {
  const haltAt = { account: 2, service: 2 };
  const gone = await leftInFlight(haltAt);
  await sweepAndDie(gone, 2n);
  const halt = { haltId: 'h-1', scope: account, cause: 'unresolved', by: 'tidemark', reason: 'two' };
  await gone.journal.raiseHalt({ ...halt, sinceMs: gone.clock.nowMs() }, { shard: 0, epoch: 2n });
  const next = await takesOver(haltAt, gone, 3n);
  expect(next.journal.halts).toMatchObject([{ haltId: 'h-1' }, { cause: 'unresolved', scope: { kind: 'service' } }]);
});

it('a halt that was lifted before the sweep has not counted what the sweep left', async () => {
  const haltAt = { account: 2, service: 100 };
  const gone = await leftInFlight(haltAt);
  const former = await takesOver(haltAt, gone, 2n);
  await former.during(former.commands.operator.resume(account, word));
  await former.clock.advance(1_000);
  former.commands.endAll();
  const again = new CommandRig({ haltAt }, former, 30);
  await again.begin(3n);
  expect(again.commands.operator.halts.list()).toEqual([]);
  again.entry.route = () => ({ answerMs: 1e9, result: { kind: 'accepted', answer: { status: 202 } } });
  void again.commands.submit(again.submission({ ...placeEquity, terms: { ...placeEquity.terms, symbol: 'MSFT' } }));
  await again.clock.advance(100);
  await sweepAndDie(again, 4n);
  const next = await takesOver(haltAt, again, 5n);
  expect(next.journal.halts.filter(({ clearedAtMs }) => clearedAtMs === undefined)).toMatchObject([
    { cause: 'unresolved', scope: account },
  ]);
});
