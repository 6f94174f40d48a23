import { expect } from 'vitest';
import { call } from '../../support/rest/rest-call.ts';
import { eventually } from '../../support/runs/poll.ts';
import type { RunningService, World } from '../../support/runs/service-under-test.ts';

/** A lane without a row: no process has it, and none can take it. */
const nowhere = 32_767;

/**
 * For tests in which nobody dies: beside other tests, a process of a slow machine has stood still
 * for the 2 s of the usual lease, lost its lane and taken another.
 */
export const longLeases = {
  TIDEMARK_LEASE_RENEW_MS: '1000',
  TIDEMARK_LEASE_MARGIN_MS: '10000',
  TIDEMARK_LEASE_TTL_MS: '20000',
};

/**
 * Processes that share the shards from their start, the first one in lane 0 and so on: the shards
 * are free once all of them run. One that comes later is given one shard every 5 s, so it would
 * have its part after a minute.
 */
export async function serveTogether(
  world: World,
  settings: readonly Readonly<Record<string, string>>[],
): Promise<RunningService[]> {
  await world.query('update shards set lane = $1', [nowhere]);
  const services: RunningService[] = [];
  for (const env of settings) {
    const service = await world.serve(env);
    await service.awaitLog('the lane', ({ msg }) => msg === 'the lane is ours');
    services.push(service);
  }
  // Its weight is 0 until it has introduced itself.
  await eventually(async () => expect(await world.query('select from lanes where weight = 0')).toEqual([]));
  // Freed now: of one that has been free for a second, everybody takes more than its part.
  await world.query('update shards set lane = null, since = clock_timestamp()');
  await untilShardsAt(world, [...settings.keys()]);
  await untilEven(world);
  await Promise.all(services.map((service) => service.waitLive()));
  await untilAllLive(services);
  return services;
}

/** Until every account is live at one of them: a shard may have moved since each was live. */
async function untilAllLive([any]: readonly RunningService[]): Promise<void> {
  if (any === undefined) return;
  const states = async (): Promise<string[]> => {
    const { body } = await call(any, 'GET', '/v1/accounts');
    return body.items.map(({ state }: { state: string }) => state);
  };
  await eventually(
    async () => expect((await states()).filter((state) => state !== 'live' && state !== 'not_enrolled')).toEqual([]),
    { deadlineMs: 60_000, everyMs: 100 },
  );
}

/** A process that looked late has less than its part, and is given one shard every 5 s. */
async function untilEven(world: World): Promise<void> {
  await eventually(
    async () => {
      const rows = await world.query<{ shards: number }>(
        'select count(*)::integer as shards from shards group by lane',
      );
      const counts = rows.map(({ shards }) => shards);
      expect(Math.max(...counts) - Math.min(...counts), counts.join()).toBeLessThanOrEqual(1);
    },
    { deadlineMs: 120_000, everyMs: 100 },
  );
}

/** The lanes that hold shards, lowest first; null: some shards are free. */
async function lanesOfShards(world: World): Promise<(number | null)[]> {
  const rows = await world.query<{ lane: number | null }>('select distinct lane from shards order by lane');
  return rows.map(({ lane }) => lane);
}

/** Until all shards are those of the lanes, and of each of them some. */
export async function untilShardsAt(world: World, lanes: readonly number[]): Promise<void> {
  await eventually(async () => expect(await lanesOfShards(world)).toEqual(lanes), {
    deadlineMs: 120_000,
    everyMs: 100,
  });
}
