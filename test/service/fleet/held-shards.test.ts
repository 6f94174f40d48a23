import { expect, it } from 'vitest';
import type { IngestItem } from '../../../src/domain/observation.ts';
import { HeldShards } from '../../../src/service/fleet/held-shards.ts';
import { equityView } from '../../support/orders/arbitrary-orders.ts';

const accounts = Array.from({ length: 40 }, (_, i) => `ACC-${i}`);

/** Three shards, of which the first is held. */
function rig() {
  const held = new HeldShards();
  held.count = 3;
  held.add({ shard: 0, epoch: 1n });
  const taken: IngestItem[] = [];
  const sink = {
    offer: (item: IngestItem) => taken.push(item),
    full: false,
    onRoom: () => () => {},
    committed: async () => {},
  };
  const ofShard = (shard: number) => accounts.find((accountId) => held.shardOf(accountId) === shard) ?? '';
  const order = (accountId: string): IngestItem => ({
    ...{ kind: 'order', cause: 'snapshot', view: { ...equityView, accountId }, sourceEpoch: 0 },
    ...{ observedAtMs: 0, receivedMs: 0, bytes: 1 },
  });
  const lost = (accountId: string): IngestItem => ({
    ...{ kind: 'watermarks', markId: 'm', stream: 'account', accountIds: [accountId], event: 'lost', atMs: 0 },
  });
  return { held, taken, sink: held.guard(sink), ofShard, order, lost };
}

it('follows the accounts of its shards, and of no other', () => {
  const { held, ofShard } = rig();
  expect([0, 1, 2].map((shard) => held.follows(ofShard(shard)))).toEqual([true, false, false]);
  expect(held.shards).toEqual([0]);
});

it('knows its part of all shards, which is nothing before their number is known', () => {
  const { held } = rig();
  expect([new HeldShards().part, held.part]).toEqual([0, 1 / 3]);
  held.leave(0);
  expect(held.part).toBe(0);
});

it('lets nothing into ingest about an account whose shard it does not hold', () => {
  const { taken, sink, ofShard, order } = rig();
  sink.offer(order(ofShard(0)));
  sink.offer(order(ofShard(1)));
  expect(taken).toEqual([order(ofShard(0))]);
});

it('takes the last marks of a shard that it leaves, and nothing once the shard was dropped', () => {
  const { held, taken, sink, ofShard, order, lost } = rig();
  const accountId = ofShard(0);
  held.leave(0);
  expect(held.follows(accountId)).toBe(false);
  sink.offer(lost(accountId));
  held.drop(0);
  sink.offer(order(accountId));
  expect(taken).toEqual([lost(accountId)]);
});

it('follows no account before it knows how many shards there are', () => {
  expect(new HeldShards().follows('ACC-1')).toBe(false);
});
