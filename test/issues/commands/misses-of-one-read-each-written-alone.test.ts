// What a user saw: A thousand commands without an outcome wrote hundreds of rows a second, one by one.

import { expect, it } from 'vitest';
import { CommandRig, placeEquity, unknown } from '../../support/commands/command-rig.ts';

/** Places of which nothing is known, no two alike. */
async function unknownPlaces(rig: CommandRig, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 1; i <= count; i += 1) {
    rig.entry.scripts.push({ result: unknown });
    const terms = { ...placeEquity.terms, qty: String(i) };
    ids.push((await rig.send({ ...placeEquity, terms })).commandId);
  }
  return ids;
}

it('all that one read missed is one write, and each command knows its own count', async () => {
  const rig = await CommandRig.leading();
  const ids = await unknownPlaces(rig, 3);
  // The looks for each command alone are over.
  await rig.clock.advance(3_000);
  let writes = 0;
  rig.journal.hook = async (operation, transact) => {
    if (operation === 'noteMisses') writes += 1;
    return transact();
  };
  const [before, missed] = [rig.probes.asked.length, ids.map((id) => rig.command(id).misses)];
  await rig.clock.advance(60_000);
  const reads = rig.probes.asked.slice(before).filter(({ kind }) => kind === 'account').length;
  expect(reads).toBeGreaterThan(3);
  expect(writes).toBe(reads);
  for (const [i, id] of ids.entries()) {
    expect(rig.command(id).misses).toBe((missed[i] ?? 0) + reads);
    expect(rig.codes(id).filter((code) => code === 'missed')).toHaveLength(rig.command(id).misses);
  }
});

it('a command that has moved on is not counted, and holds back none of the others', async () => {
  const rig = await CommandRig.leading();
  const [moved = '', other = ''] = await unknownPlaces(rig, 2);
  await rig.clock.advance(2_500);
  const before = rig.command(other).misses;
  rig.journal.hook = async (operation, transact) => {
    if (operation === 'noteMisses' && rig.command(moved).state === 'unknown') {
      rig.land(moved);
      await rig.clock.sleep(50);
    }
    return transact();
  };
  const missed = rig.command(moved).misses;
  await rig.clock.advance(2_500);
  expect(rig.command(moved)).toMatchObject({ state: 'applied', misses: missed });
  expect(rig.command(other).misses).toBeGreaterThan(before);
});

it('a command that is gone from the database holds back none of the others', async () => {
  const rig = await CommandRig.leading();
  const [gone = '', other = ''] = await unknownPlaces(rig, 2);
  await rig.clock.advance(3_000);
  const before = rig.command(other).misses;
  rig.journal.force('delete from commands where command_id = $1', [gone]);
  await rig.clock.advance(2_500);
  expect(rig.command(other).misses).toBeGreaterThan(before);
});
