import { describe, expect, it } from 'vitest';
import { enrolled, orderDesk } from '../../support/commands/order-entry.ts';
import { ask, control, controlLines } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';
import { PlatformStreamClient } from '../platform-stream-client.ts';

type Desk = Awaited<ReturnType<typeof orderDesk>>;

const streams = [
  { stream: 'account', id: 'ordId', reference: 'clOrdId' },
  { stream: 'prediction', id: 'orderId', reference: 'clientOrderRef' },
] as const;
type Case = (typeof streams)[number];

const concealment = (desk: Desk, rule: object) => control(desk.at, '/faults', { rules: [{ on: 'order', ...rule }] });

function place(desk: Desk, { stream }: Case, reference: string) {
  return stream === 'account'
    ? desk.place({ clientId: reference })
    : desk.placePrediction({ clientOrderRef: reference });
}

/** The true id of the order under a reference, by the ledger. */
async function idOf(desk: Desk, reference: string): Promise<string> {
  return (await desk.decisions()).find((line) => line.reference === reference)?.orderId;
}

async function listed(desk: Desk, { stream, id }: Case, orderId: string) {
  const base = stream === 'account' ? `${desk.at.platform}/v1/orders` : `${desk.at.staging}/v1/predictions/orders`;
  const { json } = await ask(`${base}?accountId=${enrolled}&limit=500`, { headers: desk.headers });
  const rows: Record<string, unknown>[] = stream === 'account' ? json.orders : json.data.orders;
  return rows.find((row) => row[id] === orderId);
}

async function statusOf(desk: Desk, { stream }: Case, orderId: string): Promise<number> {
  const base = stream === 'account' ? `${desk.at.platform}/v1/orders` : `${desk.at.staging}/v1/predictions/orders`;
  return (await ask(`${base}/${orderId}?accountId=${enrolled}`, { headers: desk.headers })).status;
}

async function follow(desk: Desk, { stream }: Case) {
  const client = await PlatformStreamClient.open(desk.at[stream === 'account' ? 'stream' : 'stagingStream'], {
    authorization: desk.headers.authorization,
  });
  await client.ask('subscribe', stream, `account:${enrolled}`);
  return () => client.messages.map(({ text }) => text).join('\n');
}

describe.each(streams)('a new $stream order', (which) => {
  it('that is hidden is in no list, no GET, no lookup and on no stream, and then in all of them, as it is by then', async () => {
    const desk = await orderDesk({ market: { openOrders: 0, knownOrders: 0 } });
    const told = await follow(desk, which);
    await concealment(desk, { fault: 'hidden', forMs: 3_600_000 });
    expect((await place(desk, which, 'concealed')).status).toBe(which.stream === 'account' ? 200 : 202);
    const orderId = await idOf(desk, 'concealed');
    expect(await desk.byReference('concealed')).toEqual([]);
    expect(await listed(desk, which, orderId)).toBeUndefined();
    expect(await statusOf(desk, which, orderId)).toBe(404);
    expect((await controlLines(desk.at, '/state')).map((line) => line.orderId)).toContain(orderId);
    // Another order's event has come, and none of this one.
    await place(desk, which, 'seen');
    const seen = await idOf(desk, 'seen');
    await eventually(() => expect(told()).toContain(seen));
    expect(told()).not.toContain(orderId);

    await control(desk.at, '/heal');
    expect(await desk.byReference('concealed')).toHaveLength(1);
    expect(await statusOf(desk, which, orderId)).toBe(200);
    await eventually(() => expect(told()).toContain(orderId));
    expect(await controlLines(desk.at, '/ledger?kind=fault')).toContainEqual(
      expect.objectContaining({ what: 'shown', orderId }),
    );
  });

  it('that is unreferenced is listed without the caller’s reference and not found by it, while the stream shows it', async () => {
    const desk = await orderDesk({ market: { openOrders: 0, knownOrders: 0 } });
    const told = await follow(desk, which);
    await concealment(desk, { fault: 'unreferenced', forMs: 3_600_000, reference: 'bare' });
    await place(desk, which, 'bare');
    const orderId = await idOf(desk, 'bare');
    expect(await desk.byReference('bare')).toEqual([]);
    expect(JSON.stringify(await listed(desk, which, orderId))).not.toContain('"bare"');
    await eventually(() => expect(told()).toContain('"bare"'));
    await control(desk.at, '/heal');
    expect(await desk.byReference('bare')).toHaveLength(1);
    expect(await listed(desk, which, orderId)).toMatchObject({ [which.reference]: 'bare' });
  });

  it('comes out from behind its concealment by itself when the time is over', async () => {
    const desk = await orderDesk();
    await concealment(desk, { fault: 'hidden', forMs: [20, 40] });
    await place(desk, which, 'soon');
    await eventually(async () => expect(await desk.byReference('soon')).toHaveLength(1));
  });
});

describe('concealments by rate', () => {
  it('are drawn from the seed: the same orders are hidden', async () => {
    const run = async () => {
      const desk = await orderDesk({ market: { seed: 5 } });
      await control(desk.at, '/faults', { orders: { hidden: 0.3, unreferenced: 0.3 }, concealMs: [600_000, 900_000] });
      for (let i = 0; i < 20; i += 1) await desk.place({ clientId: `v${i}` });
      const lines = await controlLines(desk.at, '/ledger?kind=fault');
      return lines
        .filter((line) => line.what === 'concealed')
        .map(({ fault, reference, forMs }) => [fault, reference, forMs]);
    };
    const first = await run();
    expect(new Set(first.map(([fault]) => fault))).toEqual(new Set(['hidden', 'unreferenced']));
    expect(await run()).toEqual(first);
  });
});
