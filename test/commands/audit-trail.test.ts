import { expect, it } from 'vitest';
import { AuditTrail } from '../../src/commands/audit-trail.ts';
import type { AuditEntry } from '../../src/store/command-journal.ts';
import { silentLog } from '../support/silent-log.ts';

it('writes what was recorded while it wrote in one go, in order, and is drained when all of it is written', async () => {
  const writes: { readonly actions: string[]; readonly done: () => void }[] = [];
  const audit = (entries: readonly AuditEntry[]) =>
    new Promise<void>((resolve) => {
      writes.push({ actions: entries.map(({ action }) => action), done: resolve });
    });
  const trail = new AuditTrail({ journal: { audit }, log: silentLog });
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
