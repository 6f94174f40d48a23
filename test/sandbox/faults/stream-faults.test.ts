import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { cutWays, garbageKinds } from '../../../src/sandbox/faults/fault-shapes.ts';
import type { RunningSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { control, controlLines, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';
import { PlatformStreamClient } from '../platform-stream-client.ts';

const accountId = 'SIM-1001';

/** A client that follows both topics of one account. */
async function following(input: Parameters<typeof runningSandbox>[0] = {}) {
  const sandbox = await runningSandbox(input);
  const at = sandbox.description;
  const client = await PlatformStreamClient.open(at.stream, await signedIn(at));
  for (const topic of ['account', 'prediction']) await client.ask('subscribe', topic, `account:${accountId}`);
  return { sandbox, at, client };
}

/** `count` orders placed elsewhere, each an event. Their ids. */
async function opened(sandbox: RunningSandbox, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const { json } = await control(sandbox.description, '/orders', {
      stream: 'prediction',
      accountId,
      accepted: false,
    });
    ids.push(json.orderId);
  }
  return ids;
}

const rule = (fault: string, more: object = {}) => ({ rules: [{ on: 'event', fault, ...more }] });

describe('an event', () => {
  it('arrives twice when it is duplicated', async () => {
    const { sandbox, at, client } = await following();
    await control(at, '/faults', rule('duplicate'));
    const [first, second] = await opened(sandbox, 2);
    await eventually(() => expect(client.events().map((event) => event.orderId)).toEqual([first, first, second]));
  });

  it('arrives behind later ones when it is reordered, and arrives also when nothing follows', async () => {
    const { sandbox, at, client } = await following();
    await control(at, '/faults', rule('reorder'));
    const [first, ...others] = await opened(sandbox, 8);
    await eventually(() => expect(client.events()).toHaveLength(8));
    const order = client.events().map((event) => event.orderId);
    expect(order[0]).not.toBe(first);
    expect(order.filter((id) => id !== first)).toEqual(others);
    await control(at, '/faults', rule('reorder'));
    const [alone] = await opened(sandbox, 1);
    await eventually(() => expect(client.events().at(-1)?.orderId).toBe(alone));
  });

  it('is lost and takes the connection with it a little later when it is dropped', async () => {
    const { sandbox, at, client } = await following();
    await control(at, '/faults', rule('drop'));
    const [lost, seen] = await opened(sandbox, 2);
    await eventually(() => expect(client.events().map((event) => event.orderId)).toEqual([seen]));
    await client.ended();
    const lines = await controlLines(at, '/ledger?kind=change,event');
    const change = lines.find((line) => line.kind === 'change' && line.orderId === lost);
    expect(lines.find((line) => line.change === change.seq)).toMatchObject({ result: 'dropped' });
  });

  it('is lost for good on a healthy connection, and is in the lists all the same', async () => {
    const { sandbox, at, client } = await following();
    await control(at, '/faults', rule('silent_loss', { skip: 1, times: 2 }));
    const [first, lost, lostToo, last] = await opened(sandbox, 4);
    await eventually(() => expect(client.events().map((event) => event.orderId)).toEqual([first, last]));
    const state = await controlLines(at, `/state?stream=prediction&accountId=${accountId}`);
    expect(state.map((line) => line.orderId)).toEqual(expect.arrayContaining([lost, lostToo]));
    expect(client.closed).toBeUndefined();
  });

  it('of a named order alone is met by a rule that names it', async () => {
    const { sandbox, at, client } = await following();
    const [first, second] = await opened(sandbox, 2);
    await control(at, '/faults', rule('silent_loss', { orderId: first, times: 5 }));
    await control(at, `/orders/${first}`, { action: 'accept' });
    await control(at, `/orders/${second}`, { action: 'accept' });
    await eventually(() => expect(client.events().at(-1)).toMatchObject({ orderId: second, state: 'new' }));
    expect(client.events().filter((event) => event.orderId === first)).toHaveLength(1);
  });

  it('has one of an account beside it that the token does not name', async () => {
    const { sandbox, at, client } = await following();
    await control(at, '/faults', rule('foreign'));
    await opened(sandbox, 1);
    await client.message(({ json }) => json.payload?.target === 'account:SIM-9001');
    await eventually(() => expect(client.events()).toHaveLength(2));
  });

  it('cuts the connection before it arrives', async () => {
    const { sandbox, at, client } = await following();
    await control(at, '/faults', rule('cut'));
    await opened(sandbox, 1);
    expect((await client.ended()).code).toBe(1006);
    expect(client.events()).toEqual([]);
  });
});

describe('a connection', () => {
  it.each(cutWays)('breaks by %s without a close frame', async (how) => {
    const { at, client } = await following();
    expect((await control(at, '/faults', { now: [{ action: 'cut', how }] })).json).toEqual({ met: [1] });
    expect((await client.ended()).code).toBe(1006);
    expect(client.unreadable).toEqual([]);
  });

  it('goes half open: no byte comes or is heard, until it heals and breaks', async () => {
    // The sandbox cuts a connection whose pong is later than this:
    // not so short that a busy machine is.
    const heartbeatMs = 500;
    const { sandbox, at, client } = await following({ stream: { heartbeatMs } });
    await control(at, '/faults', { now: [{ action: 'half_open' }] });
    await eventually(() => expect(sandbox.controls.status()).toMatchObject({ sessions: [{ halfOpen: true }] }));
    const heard = client.messages.length;
    const pings = client.pings;
    client.socket.send(
      JSON.stringify({ type: 'subscribe', id: 'deaf', payload: { topic: 'account', target: 'account:SIM-1002' } }),
    );
    await opened(sandbox, 3);
    const lines = await controlLines(at, '/ledger?kind=event');
    expect(lines.map((line) => line.result)).toEqual(['half_open', 'half_open', 'half_open']);
    await systemClock.sleep(2 * heartbeatMs);
    expect([client.messages.length, client.pings, client.closed]).toEqual([heard, pings, undefined]);
    await control(at, '/heal');
    expect((await client.ended()).code).toBe(1006);
  });

  it('is met alone by an action that names its account', async () => {
    const { at, client } = await following();
    const other = await PlatformStreamClient.open(at.stream, await signedIn(at));
    await other.ask('subscribe', 'account', 'account:SIM-1002');
    await control(at, '/faults', { now: [{ action: 'cut', accountId: 'SIM-1002' }] });
    await other.ended();
    expect(client.closed).toBeUndefined();
  });

  it.each(garbageKinds)('gets garbage: %s', async (kind) => {
    const { sandbox, at, client } = await following();
    await opened(sandbox, 1);
    await eventually(() => expect(client.events()).toHaveLength(1));
    const before = client.messages.length;
    await control(at, '/faults', { now: [{ action: 'garbage', kind }] });
    await eventually(() => {
      const strange =
        client.messages.length > before ||
        client.unreadable.length > 0 ||
        client.errors.length > 0 ||
        client.pings > 100;
      // Fragments that never end show by what they hold up.
      expect(strange || kind === 'unfinished_fragments').toBe(true);
    });
    const fatal = ['bad_utf8', 'reserved_bit'].includes(kind);
    if (fatal) expect((await client.ended()).code).toBe(1006);
  });
});

describe('the upgrade and the subscription', () => {
  it.each(['status_401', 'status_403', 'status_500', 'html', 'reset'])('an upgrade meets %s once', async (fault) => {
    const { description: at } = await runningSandbox();
    await control(at, '/faults', { rules: [{ on: 'upgrade', fault }] });
    await expect(PlatformStreamClient.open(at.stream, await signedIn(at))).rejects.toThrow();
    await PlatformStreamClient.open(at.stream, await signedIn(at));
  });

  it('is never acknowledged, acknowledged late, refused, or overtaken by an event', async () => {
    const { description: at } = await runningSandbox();
    const on = (fault: string) => control(at, '/faults', { rules: [{ on: 'subscribe', fault, accountId }] });
    const client = await PlatformStreamClient.open(at.stream, await signedIn(at));
    await on('early_event');
    await client.ask('subscribe', 'account', `account:${accountId}`);
    expect(client.messages.map(({ json }) => json.type)).toEqual(['event', 'subscribed']);
    await on('refuse');
    expect((await client.ask('subscribe', 'account', `account:${accountId}`)).json.payload.code).toBe('FORBIDDEN');
    await on('no_ack');
    client.socket.send(
      JSON.stringify({ type: 'subscribe', id: 'lost', payload: { topic: 'account', target: `account:${accountId}` } }),
    );
    await client.ask('subscribe', 'account', 'account:SIM-1002');
    expect(client.messages.some(({ json }) => json.id === 'lost')).toBe(false);
    await on('late_ack');
    expect((await client.ask('subscribe', 'prediction', `account:${accountId}`)).json.type).toBe('subscribed');
  });
});

describe('uncertain orders', () => {
  it('a gap makes the open prediction orders unknown for a while, with rising versions', async () => {
    const { sandbox, at, client } = await following({ market: { knownOrders: 0, openOrders: 0 } });
    const [first] = await opened(sandbox, 1);
    await control(at, `/orders/${first}`, { action: 'accept' });
    const answer = await control(at, '/faults', { now: [{ action: 'unknown_gap', accountId, forMs: 50 }] });
    expect(answer.json).toEqual({ met: [1] });
    await eventually(() =>
      expect(client.events().map((event) => [event.state, event.certainty, event.version])).toEqual([
        ['pending_new', 'certain', 1],
        ['new', 'certain', 2],
        ['unknown', 'unknown_gap', 3],
        ['new', 'certain', 4],
      ]),
    );
  });

  it('an order that was cancelled while it was unknown stays so when it is certain again', async () => {
    const { sandbox, at } = await following({ market: { knownOrders: 0, openOrders: 0 } });
    const [id] = await opened(sandbox, 1);
    await control(at, `/orders/${id}`, { action: 'accept' });
    await control(at, '/faults', { now: [{ action: 'unknown_gap', accountId, forMs: 600_000 }] });
    const canceled = { state: 'canceled', leavesQty: '0', closedAt: expect.any(String) };
    expect((await control(at, `/orders/${id}`, { action: 'cancel' })).json).toMatchObject(canceled);
    await control(at, '/heal');
    const [line] = await controlLines(at, `/state?stream=prediction&accountId=${accountId}`);
    expect(line?.order).toMatchObject({ ...canceled, certainty: 'certain' });
  });

  it('a lost store restarts versions, forgets the oldest, and is over when it heals', async () => {
    const { sandbox, at, client } = await following({ market: { knownOrders: 0, openOrders: 0 } });
    const [gone, kept] = await opened(sandbox, 2);
    await control(at, `/orders/${kept}`, { action: 'accept' });
    await control(at, '/faults', { now: [{ action: 'unknown_store_lost', accountId, forMs: 600_000, forgotten: 1 }] });
    const lost = await client.message(({ json }) => json.payload?.data?.certainty === 'unknown_store_lost');
    expect(lost.json.payload.data).toMatchObject({ orderId: kept, version: 1, state: 'unknown' });
    await control(at, '/heal');
    await client.message(({ json }) => json.payload?.data?.version === 2 && json.payload.data.certainty === 'certain');
    const state = await controlLines(at, `/state?stream=prediction&accountId=${accountId}`);
    expect(state.map((line) => line.orderId)).toEqual([kept]);
    expect(client.events().some((event) => event.orderId === gone && event.certainty !== 'certain')).toBe(false);
  });

  it('an account that is not there is refused', async () => {
    const { description: at } = await runningSandbox();
    const answer = await control(at, '/faults', { now: [{ action: 'unknown_gap', accountId: 'nobody' }] });
    expect(answer.status).toBe(404);
  });
});

it('rates meet events by their share, the same for the same seed, and not after it healed', async () => {
  const results = async () => {
    const { at, client, sandbox } = await following({ market: { openOrders: 50 } });
    await control(at, '/faults', { stream: { silent_loss: 0.2, duplicate: 0.1 } });
    await control(at, '/burst', { count: 2000 });
    await eventually(() => expect(sandbox.controls.status()).toMatchObject({ changes: 2000 }));
    const lines = await controlLines(at, '/ledger?kind=event');
    await control(at, '/heal');
    await control(at, '/burst', { count: 500 });
    await eventually(() => expect(sandbox.controls.status()).toMatchObject({ changes: 2500 }));
    const healed = (await controlLines(at, `/ledger?kind=event&since=${lines.at(-1)?.seq}`)).map((line) => line.result);
    expect(new Set(healed)).toEqual(new Set(['sent']));
    expect(client.closed).toBeUndefined();
    return lines.map((line) => line.result);
  };
  const first = await results();
  const share = (result: string) => first.filter((it) => it === result).length / first.length;
  expect(share('silently_lost')).toBeGreaterThan(0.15);
  expect(share('silently_lost')).toBeLessThan(0.25);
  expect(share('sent_twice')).toBeGreaterThan(0.06);
  expect(await results()).toEqual(first);
});
