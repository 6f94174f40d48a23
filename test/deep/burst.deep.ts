import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { nothingWrong, World } from '../support/runs/service-under-test.ts';

const frames = 50_000;
const mostBytes = 400_000_000;

it('a burst of 50,000 frames goes through whole, in bounded memory', async () => {
  const { description } = await runningSandbox({ market: { rate: 0, openOrders: 2000, knownOrders: 2000 } });
  // An audit as often as in earnest: every two seconds it would read all of the last five minutes,
  // and overtake what waits in the socket.
  const world = await World.create({
    platform: platformSettings(description),
    env: { TIDEMARK_AUDIT_INTERVAL_MS: '60000' },
  });
  const service = await world.serve();
  await service.waitLive();

  await control(description, '/burst', { count: frames });
  await service.waitMetric('tidemark_source_frames_total', { type: 'event' }, frames, 60_000);
  const proof = await world.resolvedProof(description);
  expect(proof).toMatchObject(nothingWrong);
  const resolved = await service.waitMetric('tidemark_observations_total', { cause: 'stream' }, frames);
  expect(resolved, 'every frame ended as applied, ignored or a dead letter').toBe(proof.observations);
  expect(peakBytes(service.process.pid)).toBeLessThan(mostBytes);
}, 240_000);

/** The most memory that the process ever had resident, as the kernel saw it. */
function peakBytes(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}
