import { describe, expect, it } from 'vitest';
import { enrolled, orderClient } from '../../support/commands/order-entry.ts';
import { ask, control, controlLines } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';
import { PlatformStreamClient } from '../platform-stream-client.ts';

type OrderClient = Awaited<ReturnType<typeof orderClient>>;

const streams = [
  { stream: 'account', id: 'ordId', reference: 'clOrdId' },
  { stream: 'prediction', id: 'orderId', reference: 'clientOrderRef' },
] as const;
type Case = (typeof streams)[number];

const concealment = (client: OrderClient, rule: object) =>
  control(client.at, '/faults', { rules: [{ on: 'order', ...rule }] });

function place(client: OrderClient, { stream }: Case, reference: string) {
  return stream === 'account'
    ? client.place({ clientId: reference })
    : client.placePrediction({ clientOrderRef: reference });
}

/** The true id of the order under a reference, by the ledger. */
async function idOf(client: OrderClient, reference: string): Promise<string> {
  return (await client.decisions()).find((line) => line.reference === reference)?.orderId;
}

async function listed(client: OrderClient, { stream, id }: Case, orderId: string) {
  const base = stream === 'account' ? `${client.at.platform}/v1/orders` : `${client.at.staging}/v1/predictions/orders`;
  const { json } = await ask(`${base}?accountId=${enrolled}&limit=500`, { headers: client.headers });
  const rows: Record<string, unknown>[] = stream === 'account' ? json.orders : json.data.orders;
  return rows.find((row) => row[id] === orderId);
}

async function statusOf(client: OrderClient, { stream }: Case, orderId: string): Promise<number> {
  const base = stream === 'account' ? `${client.at.platform}/v1/orders` : `${client.at.staging}/v1/predictions/orders`;
  return (await ask(`${base}/${orderId}?accountId=${enrolled}`, { headers: client.headers })).status;
}

async function follow(client: OrderClient, { stream }: Case) {
  const subscriber = await PlatformStreamClient.open(client.at[stream === 'account' ? 'stream' : 'stagingStream'], {
    authorization: client.headers.authorization,
  });
  await subscriber.ask('subscribe', stream, `account:${enrolled}`);
  return () => subscriber.messages.map(({ text }) => text).join('\n');
}

describe.each(streams)('a new $stream order', (which) => {
  it('that is hidden is in no list, no GET, no lookup and on no stream, and then in all of them, as it is by then', async () => {
    const client = await orderClient({ market: { openOrders: 0, knownOrders: 0 } });
    const told = await follow(client, which);
    await concealment(client, { fault: 'hidden', forMs: 3_600_000 });
    expect((await place(client, which, 'concealed')).status).toBe(which.stream === 'account' ? 200 : 202);
    const orderId = await idOf(client, 'concealed');
    expect(await client.byReference('concealed')).toEqual([]);
    expect(await listed(client, which, orderId)).toBeUndefined();
    expect(await statusOf(client, which, orderId)).toBe(404);
    expect((await controlLines(client.at, '/state')).map((line) => line.orderId)).toContain(orderId);
    // Another order's event has come, and none of this one.
    await place(client, which, 'seen');
    const seen = await idOf(client, 'seen');
    await eventually(() => expect(told()).toContain(seen));
    expect(told()).not.toContain(orderId);

    await control(client.at, '/heal');
    expect(await client.byReference('concealed')).toHaveLength(1);
    expect(await statusOf(client, which, orderId)).toBe(200);
    await eventually(() => expect(told()).toContain(orderId));
    expect(await controlLines(client.at, '/ledger?kind=fault')).toContainEqual(
      expect.objectContaining({ what: 'shown', orderId }),
    );
  });

  it('that is unreferenced is listed without the caller’s reference and not found by it, while the stream shows it', async () => {
    const client = await orderClient({ market: { openOrders: 0, knownOrders: 0 } });
    const told = await follow(client, which);
    await concealment(client, { fault: 'unreferenced', forMs: 3_600_000, reference: 'bare' });
    await place(client, which, 'bare');
    const orderId = await idOf(client, 'bare');
    expect(await client.byReference('bare')).toEqual([]);
    expect(JSON.stringify(await listed(client, which, orderId))).not.toContain('"bare"');
    await eventually(() => expect(told()).toContain('"bare"'));
    await control(client.at, '/heal');
    expect(await client.byReference('bare')).toHaveLength(1);
    expect(await listed(client, which, orderId)).toMatchObject({ [which.reference]: 'bare' });
  });

  it('comes out from behind its concealment by itself when the time is over', async () => {
    const client = await orderClient();
    await concealment(client, { fault: 'hidden', forMs: [20, 40] });
    await place(client, which, 'soon');
    await eventually(async () => expect(await client.byReference('soon')).toHaveLength(1));
  });
});

describe('concealments by rate', () => {
  it('are drawn from the seed: the same orders are hidden', async () => {
    const run = async () => {
      const client = await orderClient({ market: { seed: 5 } });
      await control(client.at, '/faults', {
        orders: { hidden: 0.3, unreferenced: 0.3 },
        concealMs: [600_000, 900_000],
      });
      for (let i = 0; i < 20; i += 1) await client.place({ clientId: `v${i}` });
      const lines = await controlLines(client.at, '/ledger?kind=fault');
      return lines
        .filter((line) => line.what === 'concealed')
        .map(({ fault, reference, forMs }) => [fault, reference, forMs]);
    };
    const first = await run();
    expect(new Set(first.map(([fault]) => fault))).toEqual(new Set(['hidden', 'unreferenced']));
    expect(await run()).toEqual(first);
  });
});
