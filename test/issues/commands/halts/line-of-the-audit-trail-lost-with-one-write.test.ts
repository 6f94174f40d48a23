// What a user saw: After one failed database write, the audit trail did not show who had halted or settled.

import { pino } from 'pino';
import { expect, it } from 'vitest';
import { seededRandom } from '../../../../src/sandbox/seeded-random.ts';
import { AuditTrail } from '../../../../src/service/commands/audit-trail.ts';
import type { AuditTrailEntry } from '../../../../src/store/commands/command-journal.ts';
import { VirtualClock } from '../../../support/runs/virtual-clock.ts';

/** A database that is away until it is told to be there, and keeps what it was told. */
function trail() {
  const clock = new VirtualClock();
  const written: { readonly action: string; readonly again: boolean }[] = [];
  const database = { isThere: false, asked: 0 };
  const audit = async (entries: readonly AuditTrailEntry[], again = false) => {
    database.asked += 1;
    if (!database.isThere) throw new Error('away');
    written.push(...entries.map(({ action }) => ({ action, again })));
  };
  const lines: { readonly msg: string; readonly action?: string }[] = [];
  const log = pino({}, { write: (text: string) => void lines.push(JSON.parse(text)) });
  const audits = new AuditTrail({ journal: { addToAuditTrail: audit }, clock, random: seededRandom(1), log });
  const record = (action: string) => audits.record({ atMs: 1, principal: 'ann', action });
  const lost = () =>
    lines.filter(({ msg }) => /dropped|record could not be written$/.test(msg)).map(({ action }) => action);
  return { clock, audits, record, written, database, lost };
}

it('lines are kept while the database is away, and written in their order when it is back', async () => {
  const { clock, record, written, database, lost } = trail();
  for (const action of ['halt', 'settle']) record(action);
  await clock.advance(60_000);
  expect(database.asked, 'it waits between its tries').toBeLessThan(60);
  record('resume');
  database.isThere = true;
  await clock.advance(10_000);
  expect(written.map(({ action }) => action)).toEqual(['halt', 'settle', 'resume']);
  expect(written[0]?.again, 'the write that failed may have been done').toBe(true);
  record('halt');
  await clock.advance(0);
  expect(written.at(-1)).toEqual({ action: 'halt', again: false });
  expect(lost()).toEqual([]);
});

it('without room, lines of commands go before those of people, and each is in the log', async () => {
  const { clock, record, written, database, lost } = trail();
  record('halt');
  for (let n = 0; n < 9_999; n += 1) record('place');
  for (const action of ['settle', 'place', 'resume']) record(action);
  expect(lost()).toEqual(['place', 'place']);
  database.isThere = true;
  await clock.advance(60_000);
  expect(written).toHaveLength(10_001);
  expect(written.map(({ action }) => action).filter((action) => action !== 'place')).toEqual([
    'halt',
    'settle',
    'resume',
  ]);
});

it('a process that ends meanwhile puts them into its log, and ends', async () => {
  const { audits, record, lost, clock } = trail();
  for (const action of ['halt', 'settle']) record(action);
  await clock.advance(5_000);
  let over = false;
  void audits.drained().then(() => {
    over = true;
  });
  await clock.advance(0);
  expect(over).toBe(true);
  expect(lost()).toEqual(['halt', 'settle']);
});
