import { expect, it } from 'vitest';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { AuditTrail } from '../../../src/service/commands/audit-trail.ts';
import type { AuditTrailEntry } from '../../../src/store/commands/command-journal.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

function trailOnVirtualTime() {
  const clock = new VirtualClock();
  const writes: { readonly actions: string[]; readonly done: () => void }[] = [];
  const audit = (entries: readonly AuditTrailEntry[]) =>
    new Promise<void>((resolve) => {
      writes.push({ actions: entries.map(({ action }) => action), done: resolve });
    });
  return {
    clock,
    writes,
    trail: new AuditTrail({ journal: { addToAuditTrail: audit }, clock, random: seededRandom(1), log: silentLog }),
  };
}

it('writes what was recorded while it wrote in one go, in order, and is drained when all of it is written', async () => {
  const { writes, trail } = trailOnVirtualTime();
  for (const action of ['one', 'two', 'three']) trail.record({ atMs: 1, principal: 'ann', action });
  let drained = false;
  const draining = trail.drained().then(() => {
    drained = true;
  });
  expect(writes.map(({ actions }) => actions)).toEqual([['one']]);
  writes[0]?.done();
  await new Promise(setImmediate);
  expect(writes.map(({ actions }) => actions)).toEqual([['one'], ['two', 'three']]);
  expect(drained).toBe(false);
  writes[1]?.done();
  await draining;
  trail.record({ atMs: 1, principal: 'ann', action: 'four' });
  expect(writes.at(-1)?.actions).toEqual(['four']);
});

it('writes the line of a command at once, those that come soon after it together, and with them any other line at once', async () => {
  const { clock, writes, trail } = trailOnVirtualTime();
  const record = async (...actions: string[]) => {
    for (const action of actions) {
      await clock.advance(10);
      trail.record({ atMs: 1, principal: 'ann', action });
    }
  };
  await record('place');
  writes[0]?.done();
  await record('place', 'cancel', 'replace');
  expect(writes.map(({ actions }) => actions)).toEqual([['place']]);
  await clock.advance(50);
  expect(writes.map(({ actions }) => actions)).toEqual([['place'], ['place', 'cancel', 'replace']]);
  writes[1]?.done();
  await record('place');
  trail.record({ atMs: 1, principal: 'olga', action: 'halt' });
  await clock.advance(0);
  expect(writes.at(-1)?.actions).toEqual(['place', 'halt']);
});
