import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { quickCommandSettings } from '../support/commands/commands-under-kill-nine.ts';
import { idsInReach, reachableIds } from '../support/orders/odd-ids.ts';
import { control, controlLines, runningSandbox } from '../support/platform/sandbox.ts';
import { RestCaller } from '../support/rest/rest-caller.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import { printedRandom } from '../support/runs/test-seed.ts';

const accountId = 'SIM-1001';
const unreachable = ['..', 'a/../b', '..%2Fx'];
const streams = ['account', 'prediction'] as const;
type Stream = (typeof streams)[number];
type Named = readonly [stream: Stream, orderId: string];

function pathOf([stream, orderId]: Named): string {
  return `/v1/${stream === 'prediction' ? 'predictions/' : ''}orders/${encodeURIComponent(orderId)}`;
}

/** The ids that the platform itself has read from its paths, by method. */
async function pathsSeen(sandbox: Parameters<typeof controlLines>[0], method: string): Promise<string[]> {
  const lines = await controlLines(sandbox, '/ledger?kind=request');
  return lines
    .filter((line) => line.method === method)
    .map(({ url }) => decodeURIComponent(/^\/v1\/(?:predictions\/)?orders\/([^?]*)/.exec(url)?.[1] ?? ''));
}

async function listed(rest: RestCaller, status: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let cursor = ''; ; ) {
    const { body } = await rest.ask({
      method: 'GET',
      path: `/v1/orders?accountId=${accountId}&limit=50&status=${status}${cursor}`,
    });
    for (const { stream, orderId } of body.items) found.set(orderId, stream);
    if (body.next === undefined) return found;
    cursor = `&cursor=${encodeURIComponent(body.next)}`;
  }
}

async function doubtsOf(service: RunningService): Promise<Record<string, string>> {
  const { trust } = await service.status();
  return Object.fromEntries(trust.doubts.map(({ name, detail }: { name: string; detail: string }) => [name, detail]));
}

const restOf = async (service: RunningService) => new RestCaller([await service.restAddress()]);

describe('orders under ids with any character', () => {
  it('are stored, listed and cancelled under that very id, one by one and by a cancel-all; those that no address may have are named before', async () => {
    const random = printedRandom('ids');
    const drawn = fc.sample(idsInReach(), { numRuns: 40, seed: Math.floor(random.next() * 2 ** 31) });
    const ids = [...new Set([...reachableIds, ...drawn])];
    const named = ids.map((id, at): Named => [streams[at % 2] ?? 'account', id]);
    let keys = 0;
    const { description } = await runningSandbox({ market: { openOrders: 0, knownOrders: 0 } });
    const make = ([stream, orderId]: Named) => control(description, '/orders', { stream, accountId, orderId });
    // A part is there before the start, and comes by lists; the rest comes by the stream.
    for (const order of named.slice(0, 20)) expect((await make(order)).status).toBe(200);
    const world = await World.create({ platform: platformSettings(description), env: quickCommandSettings });
    let service = await world.serve();
    await service.waitLive();
    for (const order of named.slice(20)) expect((await make(order)).status).toBe(200);
    for (const orderId of unreachable) await make(['account', orderId]);
    let rest = await restOf(service);
    const expected = new Map(
      [...named, ...unreachable.map((id) => ['account', id] as const)].map(([stream, id]) => [id, stream]),
    );
    await eventually(async () => expect(await listed(rest, 'new')).toEqual(expected), {
      deadlineMs: 30_000,
      everyMs: 250,
    });

    const told =
      /^3 open orders can be cancelled only at the platform.*account SIM-1001: "\.\.", "a\/\.\.\/b", "\.\.%2Fx"$/;
    expect((await doubtsOf(service))['orders_out_of_reach']).toMatch(told);
    // Also after a restart, where no list shows orders that do not change.
    await service.stop();
    service = await world.serve();
    await service.waitLive();
    rest = await restOf(service);
    await eventually(async () => expect((await doubtsOf(service))['orders_out_of_reach']).toMatch(/^3 open orders/), {
      deadlineMs: 30_000,
      everyMs: 250,
    });

    const one = named.filter((_order, at) => at % 4 < 2);
    const cancel = (order: Named) =>
      rest.ask({
        method: 'DELETE',
        path: `${pathOf(order)}?accountId=${accountId}`,
        key: `cancel-${keys++}`,
        headers: { prefer: 'wait=5' },
      });
    for (const order of one) {
      const { status, body } = await cancel(order);
      expect([order, status, body.orderId, body.result]).toEqual([order, 200, order[1], 'applied']);
    }
    expect((await cancel(['account', '..%2Fx'])).body).toMatchObject({
      result: 'not_sent',
      reason: { message: expect.stringMatching(/^nothing was sent: .* only at the platform itself$/) },
    });
    const { body: swept } = await rest.ask({
      method: 'POST',
      path: `/v1/accounts/${accountId}/cancel-all`,
      key: 'all',
      body: { reason: 'a drill' },
    });
    const results = new Map(
      swept.orders.map((order: { orderId: string; result: string }) => [order.orderId, order.result]),
    );
    expect(unreachable.map((id) => results.get(id))).toEqual(unreachable.map(() => 'not_sent'));

    await eventually(async () => expect([...(await listed(rest, 'canceled')).keys()].sort()).toEqual([...ids].sort()), {
      deadlineMs: 30_000,
      everyMs: 250,
    });
    expect((await pathsSeen(description, 'DELETE')).sort()).toEqual([...ids].sort());
    expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
    expect(await service.stop()).toBe(0);
  }, 240_000);
});
