// What a user saw: Commands of healthy shards waited because the journal of one shard could not be read.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { HeldShards } from '../../../src/service/fleet/held-shards.ts';
import { ShardWork } from '../../../src/service/fleet/shard-work.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

it('commands of a shard are taken although the journal of another one can not be read', async () => {
  const begun: number[] = [];
  let broken = true;
  const commands = {
    expect: () => undefined,
    begin: async ({ shard }: { readonly shard: number }) => {
      if (shard === 0 && broken) throw new Error('the journal of shard 0 can not be read');
      begun.push(shard);
    },
    quiesce: async () => undefined,
    end: () => undefined,
  };
  const ingest = { forgetOrders: () => undefined };
  const sources = { review: () => undefined };
  const deps = { held: new HeldShards(), sources, ingest, commands, metrics: createMetrics().ingest, log: silentLog };
  const work = new ShardWork(deps);
  work.resume(
    16,
    [0, 1, 2].map((shard) => ({ shard, epoch: 1n })),
  );
  const failure = 'the journal of shard 0';
  await expect(work.beginCommands()).rejects.toThrow(failure);
  await expect(work.beginCommands()).rejects.toThrow(failure);
  await expect(work.beginCommands()).rejects.toThrow(failure);
  expect(begun).toEqual([1, 2]);
  broken = false;
  await work.beginCommands();
  expect(begun).toEqual([1, 2, 0]);
});
