import { expect, it } from 'vitest';
import { Verifier } from '../../docs/consumers/verify.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import type { FaultOrder } from '../../src/sandbox/faults/fault-shapes.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, World } from '../support/runs/service-under-test.ts';
import { printedRandom } from '../support/runs/test-seed.ts';
import { readAll } from '../support/servers/kafka-fixture.ts';
import { kafkaBehindProxy, proxyTo, through } from '../support/servers/network.ts';

/** What the platform and its network do meanwhile, by turns. */
const faults: readonly FaultOrder[] = [
  {},
  { stream: { duplicate: 0.05, reorder: 0.05 } },
  { stream: { silent_loss: 0.02, drop: 0.002, cut: 0.002 } },
  { requests: { lag: 0.3, status_500: 0.1, torn: 0.1 }, lagMs: 1000 },
  { stream: { garbage: 0.01, foreign: 0.01, half_open: 0.001 } },
];
const atWork = 10;
const atStart = 3;
const longestStartMs = 1_500;
const longestWorkMs = 1_500;

it('killed with -9 ten times at work and three times while it starts, ledger, database and topic agree once all is healed', async () => {
  const random = printedRandom('kill-nine');
  const sandbox = await runningSandbox({ market: { rate: 200, openOrders: 200, knownOrders: 300 } });
  const { description } = sandbox;
  // Answers on their way are what a kill falls between: a commit, or an
  // acknowledgement, that is true and not yet known.
  const kafkaNetwork = await kafkaBehindProxy();
  const world = await World.create({
    brokers: [kafkaNetwork.address],
    platform: platformSettings(description),
    // Most of a round is the wait for the lease of the process that was killed.
    env: { TIDEMARK_LEASE_RENEW_MS: '200', TIDEMARK_LEASE_MARGIN_MS: '400', TIDEMARK_LEASE_TTL_MS: '1000' },
  });
  const committed = async () =>
    Number((await world.query<{ count: string }>('select count(*) from order_updates'))[0]?.count);

  const databaseNetwork = await proxyTo(world.databaseUrl);
  const throughNetwork = { DATABASE_URL: through(databaseNetwork, world.databaseUrl) };
  databaseNetwork.behave({ kind: 'delay', ms: 15 }, 'toClient');
  kafkaNetwork.behave({ kind: 'delay', ms: 60 }, 'toClient');

  for (let round = 0; round < atStart + atWork; round += 1) {
    await control(description, '/heal');
    await control(description, '/faults', faults[round % faults.length]);
    const before = await committed();
    const service = await world.serve(throughNetwork);
    if (round < atStart) {
      await systemClock.sleep(random.next() * longestStartMs);
    } else {
      await eventually(async () => expect(await committed(), service.process.tail()).toBeGreaterThan(before), {
        deadlineMs: 120_000,
        everyMs: 50,
      });
      await systemClock.sleep(random.next() * longestWorkMs);
    }
    await service.kill9();
  }

  await control(description, '/heal');
  for (const network of [databaseNetwork, kafkaNetwork]) network.behave({ kind: 'pass' });
  const last = await world.serve();
  await last.waitLive();
  await control(description, '/rate', { rate: 0 });
  expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
  expect(await last.stop()).toBe(0);
  // Each process proves also what the one before had committed when it was killed.
  const verifier = new Verifier();
  for (const { value = '' } of await readAll(world.brokers, world.topics.updates)) verifier.update(value);
  const marks = await readAll(world.brokers, world.topics.watermarks);
  expect(marks.flatMap(({ value = '' }) => verifier.mark(value))).toEqual([]);
  expect(verifier.complete()).toEqual([
    expect.stringMatching(/^lane 0: complete from \S+ to \S+: [1-9]\d{2,} updates$/),
  ]);
}, 360_000);
