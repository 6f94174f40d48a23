import { expect, it } from 'vitest';
import { platformSettings, type SandboxDescription } from '../../src/sandbox/describe-sandbox.ts';
import { control, controlLines, runningSandbox } from '../support/platform/sandbox.ts';
import { eventually } from '../support/runs/poll.ts';
import { type RunningService, World } from '../support/runs/service-under-test.ts';

/** For each ended token: how often it was sent to a listener of the platform, or to its stream. */
async function refusals(sandbox: SandboxDescription): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  for (const { refusedToken } of await controlLines(sandbox, '/ledger?kind=answer,session'))
    if (refusedToken !== undefined) times.set(refusedToken, (times.get(refusedToken) ?? 0) + 1);
  return times;
}

const askedForSignIn = (services: readonly RunningService[]) =>
  services.flatMap(({ process }) => process.lines.filter((line) => /login_required/i.test(line)));

it('where each new token ends the one before, two processes and doctor use one, and none asks for a sign-in', async () => {
  const { description: sandbox } = await runningSandbox({ tokens: { single: true }, market: { rate: 20 } });
  const world = await World.create({ platform: platformSettings(sandbox) });
  const tokens = async () => (await controlLines(sandbox, '/ledger?kind=token')).length;
  const one = await world.serve();
  await one.waitLive();
  expect(await tokens()).toBe(1);

  const doctor = await world.run(['doctor', '--json']);
  await doctor.exited;
  expect(doctor.lines.join('\n')).toMatch(/the processes of this database share is good for \d+ min more/);
  const two = await world.serve();
  const shards = () => world.query<{ lane: number }>('select distinct lane from shards order by lane');
  await eventually(async () => expect(await shards()).toHaveLength(2), { deadlineMs: 120_000, everyMs: 500 });
  await Promise.all([one.waitLive(), two.waitLive()]);
  expect(await tokens(), 'neither doctor nor the second process asked for one').toBe(1);

  // Another program signs in as this client: three times, as doctor of an older build would.
  for (let times = 1; times <= 3; times += 1) {
    const before = await tokens();
    await control(sandbox, '/faults', { now: [{ action: 'revoke_tokens' }] });
    await eventually(async () => expect(await tokens()).toBe(before + 1), { deadlineMs: 60_000, everyMs: 100 });
    await Promise.all([one.waitLive(), two.waitLive()]);
  }
  expect(await tokens(), 'one for each that was ended').toBe(4);
  // Both streams of two processes, and the reads that were under way: none again and again.
  for (const [, times] of await refusals(sandbox)) expect(times).toBeLessThanOrEqual(12);

  await one.stop();
  await eventually(async () => expect(await shards()).toHaveLength(1), { deadlineMs: 60_000, everyMs: 500 });
  await two.waitLive();
  expect(await tokens()).toBe(4);
  expect(askedForSignIn([one, two])).toEqual([]);
  expect((await two.status()).credentials).toMatchObject([{ credential: 'client', state: 'held' }]);
}, 300_000);
