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
] as const)('%s is halted with the sweep, and what a person lifts is not raised anew', async (_what, haltAt, scope) => {
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
});
