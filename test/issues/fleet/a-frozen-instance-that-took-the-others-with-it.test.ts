// What a user saw: One frozen instance made places for healthy instances fail or wait.

import { afterEach, describe, expect, it } from 'vitest';
import type { OtherInstance, OtherInstances } from '../../../src/service/fleet/other-instances.ts';
import { Forwarding } from '../../../src/service/rest/instances/forwarding.ts';
import { replaced } from '../../simulation/planted/replaced.ts';
import { ask, type RestRigOptions, startRest } from '../../support/rest/rest-rig.ts';
import { accountBody } from '../../support/rest/route-samples.ts';
import { eventually } from '../../support/runs/poll.ts';
import { scriptedServer } from '../../support/servers/http-server.ts';

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const most = 4;
const notLeader = { kind: 'declined', code: 'NOT_LEADER', message: 'another process holds the shard' } as const;

async function start(options: RestRigOptions) {
  const rig = await startRest(options);
  stops.push(() => rig.server.drain(new AbortController().signal));
  return rig;
}

/**
 * An instance that holds nothing, one that is well and has ACC-2, and one that takes requests and
 * answers none, with the shard of ACC-1.
 */
async function startFleet(forwards: NonNullable<RestRigOptions['forwards']>) {
  const frozen = await scriptedServer(() => undefined);
  stops.push(() => frozen.close());
  const well = await start({ instance: 'well' });
  const seen = new Map<string, OtherInstance>([
    ['ACC-1', { instance: 'frozen', address: frozen.url }],
    ['ACC-2', { instance: 'well', address: well.address }],
  ]);
  const others: OtherInstances = { holderOf: (accountId) => seen.get(accountId), all: () => [...seen.values()] };
  const asked = await start({ instance: 'asked', others, forwards });
  asked.commands.submitAnswer = () => notLeader;
  let keys = 0;
  const place = async (accountId: string): Promise<unknown> => {
    keys += 1;
    const headers = { 'content-type': 'application/json', 'idempotency-key': `key-${keys}` };
    const body = JSON.stringify({ ...accountBody, accountId });
    const answer = await ask(`${asked.address}/v1/orders`, { method: 'POST', headers, body });
    return answer.body['code'] ?? answer.headers.get('tidemark-instance');
  };
  return { place, seen, frozen, others, asked, well };
}

/**
 * What becomes of a place for the instance that is well, while
 * the frozen one has as many as it may.
 */
async function besideFrozen(): Promise<unknown> {
  const { place, frozen, seen } = await startFleet({ most, ms: 30_000 });
  const hung = Array.from({ length: most }, () => place('ACC-1'));
  await eventually(() => expect(frozen.received).toHaveLength(most));
  const answer = await place('ACC-2');
  seen.delete('ACC-1');
  await Promise.all(hung);
  return answer;
}

describe('a frozen instance', () => {
  it('takes no place of those that wait for another one', async () => {
    expect(await besideFrozen()).toBe('well');
  });

  it('would be noticed to, if all shared one window', async () => {
    const attempt = (Forwarding.prototype as unknown as { attempt(...of: unknown[]): Promise<unknown> }).attempt;
    const shared = { inFlight: 0 };
    const plant = replaced(
      Forwarding,
      'attempt' as keyof Forwarding,
      async function (this: Forwarding, ...of: unknown[]) {
        if (shared.inFlight >= most) return { kind: 'not_sent' };
        shared.inFlight += 1;
        return attempt.apply(this, of).finally(() => {
          shared.inFlight -= 1;
        });
      } as never,
    );
    const back = plant();
    try {
      expect(await besideFrozen()).toBe('NOT_LEADER');
    } finally {
      back();
    }
  });

  it('keeps nobody waiting once the fleet shows another holder, and the command is not sent there as well', async () => {
    const { place, frozen, seen, well } = await startFleet({ most, ms: 30_000 });
    const hung = place('ACC-1');
    await eventually(() => expect(frozen.received).toHaveLength(1));
    seen.set('ACC-1', { instance: 'well', address: well.address });
    expect(await hung).toBe('FORWARD_UNANSWERED');
    expect(well.commands.submissions).toEqual([]);
  });

  it('keeps nobody waiting beyond the deadline, though the fleet still shows it', async () => {
    const { place, frozen } = await startFleet({ most, ms: 300 });
    expect(await place('ACC-1')).toBe('FORWARD_UNANSWERED');
    expect(frozen.received).toHaveLength(1);
  });

  it('is left out of a cancel-all of everything once the fleet has gone on without it', async () => {
    const { asked, frozen, seen } = await startFleet({ most, ms: 30_000 });
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'all' };
    const answer = ask(`${asked.address}/v1/cancel-all`, { method: 'POST', headers, body: '{"reason":"stop"}' });
    await eventually(() => expect(frozen.received).toHaveLength(1));
    seen.delete('ACC-1');
    expect((await answer).body).toMatchObject({
      open: true,
      unanswered: [{ instance: 'frozen', code: 'FORWARD_UNANSWERED' }],
    });
  });
});
