// What a user saw: After an outage the venue got thousands of connections a second, each with a full read.

import { expect, it } from 'vitest';
import { CommandWorld, equity } from '../../support/commands/command-world.ts';
import { outcomeUnknown } from '../../support/commands/scripted-entry.ts';

const hour = 3_600_000;

// What protects: `Backoff` (runtime/backoff.ts) and the schedule of probes
// (service/commands/probe-watch.ts).
it('an outage of an hour is asked into at a bounded, falling rate, by sockets and by probes, and one connection each follows it', async () => {
  const world = await CommandWorld.start();
  const { platform } = world.simulated;
  world.script({ applied: { lateMs: 500 }, answer: outcomeUnknown });
  const { commandId } = await world.send(equity);
  const sockets = platform.stream.connections;
  platform.stream.down = true;
  platform.http.down = true;
  platform.stream.end({ kind: 'closed', code: 1012, reason: 'restart' }, true);
  const asked = () => ({ dials: platform.stream.dialled, probes: world.reads.orderReads.length });
  const first = asked();
  await world.pass(60_000);
  const minute = asked();
  await world.pass(hour);
  const last = asked();

  // Two sockets, each tried about every 2.5 s on average at the longest backoff
  // of 5 s. One command is probed once a minute at most by then, and a probe
  // repeats its request with backoff for its 30 s.
  expect(minute.dials - first.dials).toBeLessThanOrEqual(60);
  expect(last.dials - minute.dials).toBeLessThanOrEqual((2 * hour) / 2_000);
  expect(last.probes - minute.probes).toBeLessThanOrEqual(60 * 10);
  platform.stream.down = false;
  platform.http.down = false;
  await world.until(() => platform.stream.connections === sockets);
  await world.until(() => world.command(commandId).state === 'applied', 10 * 60_000);
  expect(platform.stream.dialled - last.dials).toBeLessThanOrEqual(4);
});
