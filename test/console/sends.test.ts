import { describe, expect, it } from 'vitest';
import { CancelAllRun } from '../../src/console/state/commands/cancel-all-run.ts';
import { KeyedSend } from '../../src/console/state/commands/keyed-send.ts';
import { ConsoleRig } from '../support/rest/console-rig.ts';

describe('issue: A cancel was refused, and the panel of the cancel-all called its order done.', () => {
  const path = 'POST /v1/accounts/ACC-1/cancel-all';
  const ids = { accountId: 'ACC-1', stream: 'account' };
  const document = (over: object) => ({
    ...{ accountId: 'ACC-1', open: false, inForce: false, orders: [], places: [], unread: [], declined: [] },
    ...over,
  });

  async function asked(over: object) {
    const rig = new ConsoleRig();
    rig.answers.set(path, { status: 200, body: document(over) });
    await rig.state.start();
    const run = new CancelAllRun(rig.state, { accountId: 'ACC-1', body: { reason: 'why' } });
    await run.ask();
    return { rig, run, states: () => run.lines().map(({ order, state }) => [order.orderId, state]) };
  }

  it('an order that landed meanwhile has a line, with the end of its cancel', async () => {
    const cancel = { commandId: 'c-2', result: 'rejected', state: 'rejected' };
    const place = { ...ids, commandId: 'c-1', result: 'applied', state: 'applied', orderId: 'o-1', cancel };
    const { states } = await asked({ places: [place, { ...ids, commandId: 'c-3', result: 'unknown' }] });
    expect(states()).toEqual([['o-1', 'not cancelled']]);
  });

  it('an answer is newer than a step that was followed before', async () => {
    const order = { ...ids, orderId: 'o-1', commandId: 'c-1', result: 'pending', state: 'open' };
    const { rig, run, states } = await asked({ orders: [order] });
    const over = new AbortController();
    const followed = run.follow(over.signal);
    rig.state.results.call({ kind: 'cancel', commandId: 'c-1', version: 2, state: 'accepted' } as never);
    expect(states()).toEqual([['o-1', 'under way']]);
    over.abort();
    await followed;
    rig.answers.set(path, { status: 200, body: document({ orders: [{ ...order, state: 'rejected' }] }) });
    await run.ask();
    expect(states()).toEqual([['o-1', 'not cancelled']]);
  });
});

describe('issue: The ticket said that nothing was sent, and the order was live.', () => {
  async function ticket(prepare: (rig: ConsoleRig) => void) {
    const rig = new ConsoleRig();
    prepare(rig);
    await rig.state.start();
    await rig.settle();
    const opened = rig.state.openTicket({});
    opened.set({ accountId: 'ACC-1', symbol: 'AAPL', quantity: '5', price: '1.10' });
    return { rig, opened };
  }

  it("a proxy's page in place of an answer leaves it open whether the order was sent", async () => {
    const { rig, opened } = await ticket((each) => each.answers.set('POST /v1/orders', { status: 502, body: {} }));
    const sent = opened.send();
    await rig.settle();
    await rig.pass(500);
    await rig.pass(2_000);
    await sent;
    expect(opened.progress.value.kind).toBe('away');
  });

  it('so does a second answer that speaks of the second try alone', async () => {
    const { rig, opened } = await ticket((each) => each.away.add('POST /v1/orders'));
    const sent = opened.send();
    await rig.settle();
    rig.away.clear();
    rig.answers.set('POST /v1/orders', {
      status: 503,
      body: { code: 'STORE_UNAVAILABLE', detail: 'nothing was sent' },
    });
    await rig.pass(500);
    await rig.pass(2_000);
    await sent;
    expect(opened.progress.value.kind).toBe('away');
  });

  it('a refusal by the service itself is one', async () => {
    const refusal = { status: 409, body: { code: 'PLACING_HALTED', detail: 'halted' } };
    const { opened } = await ticket((each) => each.answers.set('POST /v1/orders', refusal));
    await opened.send();
    expect(opened.progress.value.kind).toBe('refused');
  });

  const refusals = [
    [503, 'DRAINING'],
    [503, 'STORE_UNAVAILABLE'],
    [429, 'RATE_LIMITED'],
    [408, 'REQUEST_TIMEOUT'],
    [401, 'INVALID_TOKEN'],
  ] as const;

  async function away() {
    const { rig, opened } = await ticket((each) => each.away.add('POST /v1/orders'));
    const again = async () => {
      const sent = opened.send();
      for (const waitMs of [0, 500, 2_000]) await rig.pass(waitMs);
      await sent;
      return opened.progress.value.kind;
    };
    expect(await again()).toBe('away');
    rig.away.clear();
    return { rig, opened, again };
  }

  it.each(refusals)('“Ask again” with %i %s speaks of the new request alone', async (status, code) => {
    const { rig, opened, again } = await away();
    rig.answers.set('POST /v1/orders', { status, body: { code, detail: 'nothing was done' } });
    expect([await again(), opened.mayChange()]).toEqual(['away', false]);
    rig.answers.set('POST /v1/orders', { status: 200, body: { commandId: 'c-1' } });
    expect(await again()).toBe('sent');
  });

  it('a key that was used before says that there is a command, even while that cannot be read', async () => {
    const { rig, again } = await away();
    rig.answers.set('POST /v1/orders', {
      status: 422,
      body: { code: 'IDEMPOTENCY_KEY_REUSED', detail: 'other terms' },
    });
    rig.away.add('/v1/commands?idempotencyKey=console-id-1');
    expect(await again()).toBe('away');
  });
});

describe("issue: An order of a reader who had signed out was sent once more, by the next reader's token.", () => {
  const words = 'POST /v1/orders';
  const request = ['POST', '/v1/orders', { body: {} }] as const;

  async function signedIn() {
    const rig = new ConsoleRig();
    rig.tokens = ['ann', 'bob'];
    rig.kept = 'ann';
    await rig.state.start();
    await rig.settle();
    const next = async () => {
      rig.state.session.signOut();
      await rig.state.session.signIn('bob');
    };
    const tokens = () =>
      rig.asked.filter(({ method }) => method === 'POST').map(({ headers }) => headers['authorization']);
    return { rig, next, tokens };
  }

  it('a retry under way ends with a sign-out, without an answer', async () => {
    const { rig, next, tokens } = await signedIn();
    rig.away.add(words);
    const sent = new KeyedSend(rig.state).send(...request);
    await rig.settle();
    await next();
    rig.away.clear();
    await rig.pass(500);
    await rig.pass(2_000);
    expect([await sent, tokens()]).toEqual([{ kind: 'away' }, ['Bearer ann']]);
  });

  it('so does a request whose token was refused meanwhile', async () => {
    const { rig, next, tokens } = await signedIn();
    const answered = Promise.withResolvers<void>();
    rig.held.set(words, answered.promise);
    rig.answers.set(words, { status: 401, body: { code: 'INVALID_TOKEN', detail: 'no' } });
    const sent = rig.state.rest.send('POST', '/v1/orders');
    await next();
    answered.resolve();
    expect([await sent, tokens()]).toEqual([{ kind: 'away' }, ['Bearer ann']]);
  });
});
