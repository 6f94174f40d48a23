import { expect, it } from 'vitest';
import { sumOf } from '../../bench/prometheus-text.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { atEnd } from '../support/commands/at-end.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { EventReader } from '../support/rest/event-reader.ts';
import { eventually } from '../support/runs/poll.ts';
import { type RunningService, World } from '../support/runs/service-under-test.ts';
import { readAll } from '../support/servers/kafka-fixture.ts';
import { onServer } from '../support/servers/on-server.ts';
import { withStandby } from '../support/servers/with-standby.ts';

/**
 * Of each order the content of its highest position on the topic. No position may have two
 * contents.
 */
async function shownToConsumers(world: World): Promise<Map<string, string>> {
  const contents = new Map<string, string>();
  const newest = new Map<string, { readonly at: number; readonly value: string }>();
  for (const { key, value = '{}' } of await readAll(world.brokers, world.topics.updates)) {
    const { generation, revision } = JSON.parse(value);
    const position = `${key} ${generation}/${revision}`;
    expect(value, position).toBe(contents.get(position) ?? value);
    contents.set(position, value);
    const at = generation * 1e6 + revision;
    if (at >= (newest.get(key)?.at ?? 0)) newest.set(key, { at, value });
  }
  return new Map([...newest].map(([key, { value }]) => [key, value]));
}

function stored(url: string): Promise<{ key: string; payload: string }[]> {
  return onServer(url, async (client) => {
    const text = `select stream || ':' || order_id as key, payload from current_orders`;
    return (await client.query<{ key: string; payload: string }>(text)).rows;
  });
}

async function further(service: RunningService, count: number): Promise<void> {
  const sent = async () =>
    sumOf(await service.metrics(), 'tidemark_publish_records_total', { topic: 'updates', result: 'acknowledged' });
  const before = await sent();
  await eventually(async () => expect(await sent()).toBeGreaterThan(before + count), { deadlineMs: 60_000 });
}

it('a failover that loses commits, with two batches on their way: no position has two contents, and consumers end with what is stored', async () => {
  await using servers = await withStandby();
  const { description } = await runningSandbox({ market: { rate: 200, openOrders: 60, knownOrders: 80 } });
  const world = await World.create({ databaseUrl: servers.url, platform: platformSettings(description) });
  const service = await world.serve();
  await service.waitLive();
  await further(service, 200);
  const reader = await EventReader.open(`${await service.restAddress()}/v1/stream`);
  atEnd(() => reader.close());
  await servers.stopReplication();
  await further(service, 200);
  // An answer takes longer than the next batch needs to fill, so two are on their way.
  servers.proxy.behave({ kind: 'delay', ms: 150 }, 'toClient');
  await further(service, 50);
  await servers.promote();
  servers.leadTo(servers.standbyUrl);
  servers.proxy.cut('reset');
  servers.proxy.behave({ kind: 'pass' });
  await service.awaitLog('the loss', ({ msg }) => msg.startsWith('the database came back without commits'));
  await service.waitLive();
  await further(service, 200);
  // It stayed connected, and what it has seen is in no log any more.
  const resets = () =>
    reader.events.filter(({ event }) => event === 'reset').map(({ data }) => JSON.parse(data).reason);
  await eventually(() => expect(resets()).toEqual(['too_old']));
  await control(description, '/rate', { rate: 0 });
  await service.waitLive();
  await eventually(
    async () => {
      const consumers = await shownToConsumers(world);
      const orders = await stored(servers.standbyUrl);
      expect(new Set(orders.map(({ key }) => key))).toEqual(new Set(consumers.keys()));
      for (const { key, payload } of orders) expect(consumers.get(key)).toBe(payload);
    },
    { deadlineMs: 60_000, everyMs: 500 },
  );
  expect(await service.stop()).toBe(0);
}, 240_000);
