import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fleetAnswer } from '../../src/contract/fleet-answer.ts';
import { fleetDocument } from '../../src/store/fleet/fleet-document.ts';
import { PostgresShardStore } from '../../src/store/fleet/shard-store.ts';
import { storeRig } from '../support/orders/store-rig.ts';
import { takeShards } from '../support/orders/take-shards.ts';
import { restServer, runAgainst } from '../support/rest/rest-answers.ts';
import { json } from '../support/servers/http-server.ts';

let rig: Awaited<ReturnType<typeof storeRig>>;
let shards: PostgresShardStore;
beforeEach(async () => {
  rig = await storeRig();
  shards = new PostgresShardStore(rig);
});
afterEach(() => rig[Symbol.asyncDispose]());

/** Against REST that answers with what the database says. */
async function run(...argv: string[]) {
  const rest = await restServer((_request, response) => {
    void shards.look(6_000).then((found) => json(response, 200, fleetDocument(found, Date.now())));
  });
  return runAgainst(rest.url, ['fleet', ...argv]);
}

/** The next process: it takes the lane and these shards. */
async function join(lane: number, holder: string, wanted: readonly number[]) {
  const taken = await rig.lanes.acquire(lane, holder, 6_000);
  if (taken.kind !== 'held') throw new Error(`lane ${lane} is held by ${taken.holder}`);
  await shards.introduce(lane, taken.epoch, {
    weight: 2,
    address: 'http://10.0.0.7:8080',
    version: '1',
    draining: false,
  });
  await takeShards(shards, lane, taken.epoch, wanted);
}

const upTo = (end: number, begin = 0) => Array.from({ length: end - begin }, (_, at) => at + begin);

describe('fleet', () => {
  it('shows each process with its shards, within 100 columns, and ends with 0 when all are held', async () => {
    await takeShards(shards, 0, rig.epoch, [...upTo(5), 7, 9, 11, 13, 15]);
    await join(1, 'a-machine-with-a-long-name-4fae12c9', [5, 6, 8, 10, 12, 14]);
    const { code, out, err } = await run();
    expect([code, err]).toEqual([0, '']);
    const lines = out.trimEnd().split('\n');
    expect(lines[0]).toBe('16 shards, 2 processes, all held');
    expect(lines[1]).toMatch(/^LANE +HOLDER +SINCE +WEIGHT +SHARDS +ADDRESS +STATE$/);
    expect(lines[2]).toMatch(/^0 +first +\d+ s +\d+ +0-4,7,9,11,13… +- +live$/);
    expect(lines[3]).toMatch(/^1 +…a-long-name-4fae12c9 +\d+ s +2 +5-6,8,10,12,14 +http:\/\/10\.0\.0\.7:8080 +live$/);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  it('ends with 1 while shards are free, and names them', async () => {
    await takeShards(shards, 0, rig.epoch, upTo(14));
    const { code, out } = await run();
    expect([code, out.split('\n')[0]]).toEqual([1, '16 shards, 1 process, 2 shards free']);
    expect(out).toMatch(/\nfree: 14-15\n$/);
  });

  it('is the answer of REST with --json', async () => {
    await takeShards(shards, 0, rig.epoch, upTo(16));
    const { code, out } = await run('--json');
    const shown = fleetAnswer.parse(JSON.parse(out));
    expect([code, shown.lanes.map(({ lane, shards: held }) => [lane, held])]).toEqual([0, [[0, upTo(16)]]]);
  });
});
