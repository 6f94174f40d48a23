import { describe, expect, it } from 'vitest';
import { CancelAllRun } from '../../src/console/state/commands/cancel-all-run.ts';
import { haltsByScope } from '../../src/console/state/commands/halts-by-scope.ts';
import { RiskWatch } from '../../src/console/state/commands/risk-watch.ts';
import { addDecimals } from '../../src/console/state/text/decimal-text.ts';
import type { HaltDocument } from '../../src/contract/halt-answers.ts';
import { ConsoleRig, eventOf } from '../support/rest/console-rig.ts';

async function started(prepare: (rig: ConsoleRig) => void = () => undefined) {
  const rig = new ConsoleRig();
  prepare(rig);
  await rig.state.start();
  await rig.settle();
  await rig.streams[0]?.send('id: 1.0.0\n\n');
  return rig;
}

const haltOf = (haltId: string, accountId?: string): HaltDocument => ({
  haltId,
  scope: accountId === undefined ? { kind: 'service' } : { kind: 'account', accountId },
  ...{ cause: 'operator', reason: 'a drill', by: 'ann', since: '2026-11-22T20:00:00.000Z' },
});

const haltEvent = (halt: HaltDocument, inForce: boolean) =>
  `id: 1.2.3\nevent: halt\ndata: ${JSON.stringify({ ...halt, inForce })}\n\n`;

function follow(run: (signal: AbortSignal) => void) {
  const abort = new AbortController();
  run(abort.signal);
  return abort;
}

describe('issue: The risk screen said for half a minute that no limit is set, after one was approved there.', () => {
  it('limits are read again after an action, and as often as approvals', async () => {
    const rig = await started((each) => each.answers.set('/v1/limits', { status: 200, body: { items: [] } }));
    const watch = new RiskWatch(rig.state);
    const abort = follow((signal) => void watch.limits.follow(signal));
    await rig.settle();
    const reads = () => rig.asked.filter(({ path }) => path === '/v1/limits').length;
    expect(reads()).toBe(1);
    watch.again();
    await rig.settle();
    expect(reads()).toBe(2);
    await rig.pass(5_000);
    expect(reads()).toBe(3);
    abort.abort();
  });
});

describe('halts', () => {
  it('come live after they were read, and a change that came while they were read is not lost', async () => {
    const rig = await started((each) =>
      each.answers.set('/v1/halts', { status: 200, body: { halts: [haltOf('h-1')] } }),
    );
    const watch = new RiskWatch(rig.state);
    const listening = new AbortController();
    watch.listen(listening.signal);
    const read = Promise.withResolvers<void>();
    rig.held.set('/v1/halts', read.promise);
    const abort = follow((signal) => void watch.halts.follow(signal));
    const ids = () => watch.halts.state.value.value?.halts.map(({ haltId }) => haltId);
    await rig.streams[0]?.send(haltEvent(haltOf('h-1'), false));
    expect(ids()).toBeUndefined();
    read.resolve();
    await rig.settle();
    expect(ids()).toEqual([]);
    await rig.streams[0]?.send(haltEvent(haltOf('h-2', 'A-1'), true));
    expect(ids()).toEqual(['h-2']);
    listening.abort();
    await rig.streams[0]?.send(haltEvent(haltOf('h-2', 'A-1'), false));
    expect(ids()).toEqual(['h-2']);
    abort.abort();
  });

  it('stand with their account: all accounts first, then those that are halted', () => {
    const accounts = ['A-1', 'A-2'].map((accountId) => ({
      accountId,
      isSim: true,
      stream: 'account' as const,
      openOrders: 0,
    }));
    const lines = haltsByScope(accounts, [haltOf('h-1', 'A-2'), haltOf('h-2'), haltOf('h-3', 'unlisted')]);
    expect(lines.map(({ accountId, halts }) => [accountId, halts.map(({ haltId }) => haltId)])).toEqual([
      [undefined, ['h-2']],
      ['A-2', ['h-1']],
      ['unlisted', ['h-3']],
      ['A-1', []],
    ]);
    const unknown = (from: typeof accounts | undefined) =>
      haltsByScope(from, [haltOf('h-2'), haltOf('h-3', 'unlisted')]).filter(({ isUnknown }) => isUnknown);
    expect(unknown(accounts).map(({ accountId }) => accountId)).toEqual(['unlisted']);
    // Before the accounts were read, nothing is said about them.
    expect(unknown(undefined)).toEqual([]);
  });
});

describe('exposure', () => {
  const exposures = (rig: ConsoleRig) => rig.asked.filter(({ path }) => path === '/v1/exposure').length;

  it('is read again only after something changed, and at most every five seconds', async () => {
    const rig = await started((each) => each.answers.set('/v1/exposure', { status: 200, body: { items: [] } }));
    const watch = new RiskWatch(rig.state);
    watch.listen(new AbortController().signal);
    const abort = follow((signal) => void watch.exposure.follow(signal));
    await rig.settle();
    expect([exposures(rig), watch.exposure.state.value.value]).toEqual([1, { items: [], atMs: 0 }]);
    for (let second = 0; second < 20; second += 1) await rig.pass(1_000);
    expect(exposures(rig)).toBe(1);
    for (let second = 0; second < 10; second += 1) {
      await rig.streams[0]?.send(eventOf(10 + second, { orderId: `o-${second}` }));
      await rig.pass(1_000);
    }
    expect(exposures(rig)).toBeGreaterThan(1);
    expect(exposures(rig)).toBeLessThan(5);
    abort.abort();
  });

  it('adds amounts up without floating point', () => {
    expect(addDecimals('0.1', '0.2')).toBe('0.3');
    expect(addDecimals('9007199254740993', '0.000000000001')).toBe('9007199254740993.000000000001');
    expect(addDecimals('-1.5', '0.5')).toBe('-1');
    expect(addDecimals('5', '<img>')).toBeUndefined();
  });
});

describe('a cancel-all', () => {
  const path = 'POST /v1/accounts/A-1/cancel-all';
  const wish = { accountId: 'A-1', body: { reason: 'a drill', onLanding: 'cancel' } };
  const order = (orderId: string, over: object) => ({ accountId: 'A-1', stream: 'account', orderId, ...over });
  const answerOf = (orders: object[], over: object = {}) => ({
    status: 200,
    body: { open: false, inForce: false, orders, places: [], unread: [], declined: [], ...over },
  });
  const result = (commandId: string, version: number, state: string) =>
    `id: 1.3.${version}\nevent: result\ndata: ${JSON.stringify({ commandId, version, kind: 'cancel', state })}\n\n`;
  const words = (run: CancelAllRun) =>
    run.lines().map(({ order: { orderId }, state, word }) => `${orderId}: ${state}, ${word}`);

  it('shows each cancel by the newest step of its command, and by the order itself', async () => {
    const orders = [
      order('o-1', { commandId: 'c-1', state: 'accepted' }),
      order('o-2', { commandId: 'c-2', state: 'open' }),
      order('o-3', { code: 'RATE_LIMITED', detail: 'too fast' }),
    ];
    const rig = await started((each) => each.answers.set(path, answerOf(orders)));
    const run = new CancelAllRun(rig.state, wish);
    await run.ask();
    const abort = follow((signal) => void run.follow(signal));
    expect(words(run)).toEqual([
      'o-3: not cancelled, RATE_LIMITED',
      'o-1: under way, accepted',
      'o-2: under way, open',
    ]);
    await rig.streams[0]?.send(
      result('c-2', 3, 'applied') + result('c-2', 2, 'accepted') + result('c-9', 1, 'applied'),
    );
    await rig.streams[0]?.send(eventOf(20, { orderId: 'o-1', status: 'filled' }));
    expect(words(run)).toEqual(['o-3: not cancelled, RATE_LIMITED', 'o-1: done, accepted', 'o-2: done, applied']);
    abort.abort();
  });

  it('asks with the same key and body while cancels are missing, and ends when nothing is open', async () => {
    const missing = answerOf([order('o-1', { code: 'UNDER_WAY' })], { open: true, inForce: true });
    const rig = await started((each) => each.answers.set(path, missing));
    const run = new CancelAllRun(rig.state, wish);
    await run.ask();
    const abort = follow((signal) => void run.follow(signal));
    await rig.pass(3_000);
    rig.answers.set(path, { status: 503, body: { code: 'NOT_LEADER', detail: 'another process' } });
    await rig.pass(3_000);
    expect([run.fault.value === undefined, words(run)]).toEqual([false, ['o-1: under way, UNDER_WAY']]);
    rig.answers.set(path, answerOf([order('o-1', { commandId: 'c-1', state: 'applied' })]));
    for (let second = 0; second < 60; second += 1) await rig.pass(1_000);
    const asked = rig.asked.filter(({ method }) => method === 'POST');
    expect([asked.length, words(run), run.fault.value]).toEqual([4, ['o-1: done, applied'], undefined]);
    expect(new Set(asked.map(({ headers, body }) => JSON.stringify([headers['idempotency-key'], body]))).size).toBe(1);
    abort.abort();
  });

  it('is forgotten when its reader signs out', async () => {
    const rig = await started();
    rig.state.cancelAll.value = new CancelAllRun(rig.state, wish);
    rig.state.session.signOut();
    expect(rig.state.cancelAll.value).toBeUndefined();
  });
});
