import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { readAccounts } from '../../src/console/state/account-rows.ts';
import { CommandList } from '../../src/console/state/commands/command-list.ts';
import { RiskWatch } from '../../src/console/state/commands/risk-watch.ts';
import { allDoubts } from '../../src/console/state/doubts.ts';
import { OrderHistory } from '../../src/console/state/orders/order-history.ts';
import { pause } from '../../src/console/state/ports.ts';
import { sleeplessClock } from '../../src/console/state/sleepless-clock.ts';
import { ConsoleRig, eventOf, listedOf, updateOf } from '../support/rest/console-rig.ts';
import { historyOf } from './command-history.ts';

describe('issue: A console that stayed open for a week took a hundred megabytes more.', () => {
  it('a wait that is over leaves nothing on its signal', async () => {
    const { signal } = new AbortController();
    const after = (ms: number, run: () => void) => {
      const timer = setTimeout(run, ms);
      return { cancel: () => clearTimeout(timer) };
    };
    for (let i = 0; i < 10; i += 1) await pause({ after }, 1, signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('an aborted one ends at once', async () => {
    const over = new AbortController();
    const waited = pause({ after: () => ({ cancel: () => undefined }) }, 1_000_000, over.signal);
    over.abort();
    await waited;
    expect(getEventListeners(over.signal, 'abort')).toEqual([]);
  });
});

describe('issue: After one bad spell open orders were missing for good, under "Trusted".', () => {
  const list = '/v1/orders?open=true&limit=500';
  const down = { status: 503, body: { code: 'STORE_UNAVAILABLE', detail: 'the database does not answer' } };

  async function started(prepare: (rig: ConsoleRig) => void) {
    const rig = new ConsoleRig();
    prepare(rig);
    await rig.state.start();
    await rig.settle();
    await rig.streams[0]?.send('id: 1\n\n');
    return rig;
  }

  const doubtsOf = ({ state: { stream, openOrders, status } }: ConsoleRig) =>
    allDoubts({ stream: stream.state.value, silentMs: 0, openOrders: openOrders.value }, status.state.value).map(
      ({ name }) => name,
    );

  it('the open orders are read again, and until then they are a doubt', async () => {
    const rig = await started((each) => each.answers.set(list, down));
    for (let second = 0; second < 6; second += 1) await rig.pass(1_000);
    expect([rig.state.openOrders.value.kind, doubtsOf(rig)]).toEqual(['failed', ['orders_unread']]);
    rig.answers.set(list, { status: 200, body: { items: [listedOf(updateOf())] } });
    await rig.pass(5_000);
    expect([rig.state.openOrders.value.kind, doubtsOf(rig), rig.state.orders.rows.size]).toEqual(['all', [], 1]);
  });

  it('the page of an order keeps what it shows, says that it is old, and reads it again', async () => {
    const path = '/v1/orders/account/ord-1';
    const answers = new Map([
      [`${path}/updates?limit=500`, { status: 200, body: { items: [updateOf()], recordedAt: ['t'] } }],
      [path, { status: 200, body: listedOf(updateOf()) }],
    ]);
    const rig = await started((each) => each.answers.set(`${path}/updates?limit=500`, down));
    const history = new OrderHistory(rig.state, { stream: 'account', orderId: 'ord-1' });
    const { signal } = new AbortController();
    void history.load(signal);
    await rig.settle();
    expect(history.state.value.kind).toBe('failed');
    for (const [words, answer] of answers) rig.answers.set(words, answer);
    await rig.pass(5_000);
    expect(history.state.value).toMatchObject({ kind: 'shown', cut: false });
    rig.answers.set(path, down);
    void history.load(signal);
    await rig.settle();
    expect(history.state.value).toMatchObject({ kind: 'shown', stale: expect.stringContaining('STORE_UNAVAILABLE') });
    for (const [words, answer] of answers) rig.answers.set(words, answer);
    await rig.pass(5_000);
    expect(history.state.value).not.toHaveProperty('stale');
  });
});

describe('issue: After a renewal with other rights the open screen kept what the old token had shown.', () => {
  const issuer = 'https://id.example';
  const settings = {
    ...{ issuer, audience: 'https://tidemark.example', clientId: 'console', scope: 'orders:read' },
    metadata: { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
  };

  /** Renews the token, and counts the ends of a reader's time: each makes the screens anew. */
  async function renewed(prepare: (rig: ConsoleRig) => void) {
    const rig = new ConsoleRig();
    rig.answers.set('/console/sign-in.json', { status: 200, body: { issuer: settings } });
    rig.tokens = ['first', 'second'];
    rig.kept = 'first';
    rig.stored.set('tidemark.renewal', JSON.stringify({ refreshToken: 'r-1', endsAtMs: 600_000 }));
    rig.askIssuer = async () => Response.json({ access_token: 'second', token_type: 'bearer', expires_in: 600 });
    await rig.state.start();
    const before = rig.state.rest.signOuts;
    prepare(rig);
    await rig.pass(540_000);
    await import('oauth4webapi');
    for (let round = 0; round < 8; round += 1) await rig.settle();
    expect([rig.kept, rig.state.session.state.value.kind]).toEqual(['second', 'open']);
    return rig.state.rest.signOuts - before;
  }

  it('other rights are a new beginning for the screens, the same ones are none', async () => {
    expect(await renewed((rig) => rig.rights.scopes.splice(1))).toBe(1);
    expect(await renewed(() => undefined)).toBe(0);
  });

  it('the exposure is read again when the stream begins anew, though nothing was seen to change', async () => {
    const rig = new ConsoleRig();
    rig.answers.set('/v1/exposure', { status: 200, body: { items: [] } });
    await rig.state.start();
    const watch = new RiskWatch(rig.state);
    const abort = new AbortController();
    void watch.exposure.follow(abort.signal);
    const exposures = async () => {
      for (let second = 0; second < 10; second += 1) await rig.pass(1_000);
      return rig.asked.filter(({ path }) => path === '/v1/exposure').length;
    };
    expect(await exposures()).toBe(1);
    watch.again();
    expect(await exposures()).toBe(2);
    abort.abort();
  });
});

describe('issue: Commands of a rare kind, and accounts beyond the first page, were not shown.', () => {
  function started() {
    const rig = new ConsoleRig();
    const answer = (path: string, body: object) => rig.answers.set(path, { status: 200, body });
    return { rig, answer };
  }

  it('the list of commands goes on past pages without a row, to the first row or the end', async () => {
    const { rig, answer } = started();
    const list = new CommandList(rig.state, { kind: 'replace' });
    answer('/v1/commands?kind=replace&limit=500&unresolved=true', { items: [] });
    answer('/v1/commands?kind=replace&limit=50', { items: [], next: 'c1' });
    answer('/v1/commands?kind=replace&limit=50&cursor=c1', { items: [], next: 'c2' });
    answer('/v1/commands?kind=replace&limit=50&cursor=c2', { items: [historyOf({ kind: 'replace' })], next: 'c3' });
    const abort = new AbortController();
    await list.load(abort.signal);
    expect(list.state.peek()).toMatchObject({ kind: 'shown', rows: [{ kind: 'replace' }], next: 'c3' });
    answer('/v1/commands?kind=replace&limit=50&cursor=c3', { items: [] });
    await list.more(abort.signal);
    expect(list.state.peek()).not.toHaveProperty('next');
  });

  it('a list without an end is read for so many pages, and can be read on', async () => {
    const { rig, answer } = started();
    const list = new CommandList(rig.state, { kind: 'cancel' });
    answer('/v1/commands?kind=cancel&limit=500&unresolved=true', { items: [] });
    for (const path of ['', '&cursor=c1'])
      answer(`/v1/commands?kind=cancel&limit=50${path}`, { items: [], next: 'c1' });
    await list.load(new AbortController().signal);
    expect(rig.asked.filter(({ path }) => path.includes('limit=50')).length).toBeLessThan(30);
    expect(list.state.peek()).toMatchObject({ kind: 'shown', rows: [], next: 'c1' });
  });

  it('every account is read, over all pages', async () => {
    const { rig, answer } = started();
    answer('/v1/accounts', { items: [{ accountId: 'A' }], next: 'c1', statesKnown: true });
    answer('/v1/accounts?cursor=c1', { items: [{ accountId: 'B' }], statesKnown: true });
    expect(await readAccounts(rig.state.rest)).toMatchObject({
      kind: 'ok',
      body: { items: [{ accountId: 'A' }, { accountId: 'B' }], statesKnown: true },
    });
  });
});

describe('issue: After a night the console showed the orders of the evening as live, for 40 seconds.', () => {
  const nightMs = 8 * 3_600_000;

  it('connects again at its first beat after a sleep, and says how long it heard nothing', async () => {
    const rig = new ConsoleRig();
    await rig.state.start();
    await rig.settle();
    await rig.pass(1_000);
    await rig.streams[0]?.send(`id: 1\n\n${eventOf(2, { orderId: 'evening' })}`);
    await rig.pass(1_000);
    rig.sleep(nightMs);
    await rig.pass(1_000);
    expect(rig.state.pulse.value.silentMs).toBeGreaterThan(nightMs);
    expect(rig.state.stream.state.value).toEqual({ kind: 'waiting', why: 'the stream was silent' });
    await rig.pass(1_000);
    expect(rig.streams[1]?.lastEventId).toBe('2');
  });

  it('the clock of ages goes on in a sleep, and does not follow a clock that is set back or drifts', () => {
    let [awake, wall] = [0, 1_000_000];
    const clock = sleeplessClock(
      () => awake,
      () => wall,
    );
    const later = (awakeMs: number, wallMs: number) => {
      awake += awakeMs;
      wall += wallMs;
      return clock();
    };
    expect([later(1_000, 1_003), later(1_000, nightMs), later(1_000, -nightMs), later(1_000, 1_000)]).toEqual([
      1_000,
      nightMs + 1_000,
      nightMs + 2_000,
      nightMs + 3_000,
    ]);
  });
});

describe('issue: With ops:read alone the console said Connecting for ever, and asked without a pause.', () => {
  it('a token without orders asks for none, and the list says why it is empty', async () => {
    const rig = new ConsoleRig();
    rig.rights.scopes = ['ops:read'];
    await rig.state.start();
    await rig.state.wantOthers();
    await rig.settle();
    expect(rig.asked.filter(({ path }) => path.startsWith('/v1/orders'))).toEqual([]);
    const why = 'this token may not read orders';
    expect([rig.state.openOrders.value, rig.state.otherOrders.value]).toEqual([{ kind: 'failed', why }, undefined]);
  });

  it('orders that are over are read again after a pause when they could not be', async () => {
    const rig = new ConsoleRig();
    const path = '/v1/orders?open=false&sort=-updatedAt&limit=500';
    await rig.state.start();
    void rig.state.wantOthers();
    await rig.settle();
    void rig.state.wantOthers();
    await rig.settle();
    const asked = () => rig.asked.filter((each) => each.path === path).length;
    expect([asked(), rig.state.otherOrders.value?.kind]).toEqual([1, 'failed']);
    rig.answers.set(path, { status: 200, body: { items: [] } });
    await rig.pass(5_000);
    expect([asked(), rig.state.otherOrders.value]).toEqual([2, { kind: 'all' }]);
  });
});

describe("issue: After midnight an open page showed yesterday's times as if they were today's.", () => {
  it('a new day is announced to the screens, once', async () => {
    const rig = new ConsoleRig();
    rig.nowMs = new Date(2026, 10, 21, 23, 59, 58).getTime();
    await rig.state.start();
    const days: string[] = [];
    rig.state.today.subscribe((day) => days.push(day));
    for (let second = 0; second < 4; second += 1) await rig.pass(1_000);
    expect(days).toEqual(['Sat Nov 21 2026', 'Sun Nov 22 2026']);
  });
});
