import { expect, it, onTestFinished } from 'vitest';
import { CommandFollower } from '../../src/console/state/commands/command-follower.ts';
import type { CommandHistory } from '../../src/contract/rest-answers.ts';
import { ConsoleRig, updateOf } from '../support/rest/console-rig.ts';
import { historyOf, resultOf } from './command-history.ts';

const { commandId } = historyOf();
const path = `/v1/commands/${commandId}`;

async function start(over: Partial<CommandHistory> = {}, status = 202) {
  const rig = new ConsoleRig();
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const watch = new CommandFollower(rig.state, commandId);
  const answer = (body: Partial<CommandHistory>, code = 200) =>
    rig.answers.set(path, { status: code, body: code < 300 ? historyOf(body) : { code: 'X', detail: 'no' } });
  answer(over, status);
  void watch.follow(abort.signal);
  await rig.settle();
  const reads = () => rig.asked.length;
  const state = () => {
    const now = watch.state.peek();
    return now.kind === 'shown' ? now.command.state : now.kind;
  };
  return { rig, watch, answer, reads, state, abort };
}

it('reads a command again at each of its steps and at each update of its order, and at nothing else', async () => {
  const { rig, watch, answer, reads, state } = await start({ orderId: 'o-1' });
  await rig.pass(300);
  expect([state(), reads()]).toEqual(['unknown', 1]);
  await rig.pass(3_600_000);
  watch.takeResult(resultOf({ commandId: 'other' }));
  watch.takeUpdate(updateOf({ orderId: 'other' }));
  await rig.settle();
  expect(reads()).toBe(1);
  answer({ state: 'applied', orderId: 'o-1' });
  watch.takeResult(resultOf());
  await rig.settle();
  expect([state(), reads()]).toEqual(['applied', 2]);
  await rig.pass(300);
  watch.takeUpdate(updateOf({ orderId: 'o-1' }));
  await rig.settle();
  expect(reads()).toBe(3);
});

it('reads once for many steps at once', async () => {
  const { rig, watch, reads } = await start();
  for (let step = 0; step < 20; step += 1) watch.takeResult(resultOf());
  await rig.pass(250);
  expect(reads()).toBe(2);
  await rig.pass(60_000);
  expect(reads()).toBe(2);
});

it('reads again when the next look at the platform is over: a look that shows nothing is no step', async () => {
  const { rig, reads } = await start({ nextProbe: { at: '1970-01-01T00:00:10.000Z', by: 'account' } });
  await rig.pass(250);
  await rig.pass(11_000);
  expect(reads()).toBe(1);
  await rig.pass(1_000);
  expect(reads()).toBe(2);
});

it('reads again soon where the facts are ahead of a result that is not final, and not where it is', async () => {
  const recomputed = { ...historyOf().recomputed, agrees: false };
  const ahead = await start({ recomputed });
  await ahead.rig.pass(250);
  await ahead.rig.pass(1_000);
  expect(ahead.reads()).toBe(2);
  const final = await start({ recomputed, state: 'rejected', resolvedAt: '2026-11-21T15:00:02.000Z' });
  await final.rig.pass(250);
  await final.rig.pass(60_000);
  expect(final.reads()).toBe(1);
});

it('keeps the last answer while the service is away, and says so, until it answers again', async () => {
  const { rig, watch, answer } = await start();
  answer({}, 503);
  await rig.pass(250);
  watch.readAgain();
  await rig.settle();
  expect(watch.state.peek()).toMatchObject({ kind: 'shown', stale: 'The service answers 503 X: no.' });
  answer({ state: 'applied' });
  await rig.pass(250);
  await rig.pass(2_000);
  expect(watch.state.peek()).toEqual({ kind: 'shown', command: historyOf({ state: 'applied' }) });
});

it('says that there is no such command, and asks no more', async () => {
  const { rig, state, reads } = await start({}, 404);
  await rig.pass(250);
  await rig.pass(60_000);
  expect([state(), reads()]).toEqual(['missing', 1]);
});
