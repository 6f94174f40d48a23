// What a user saw: A halt was forgotten when its process took the lane again after a database outage.

import { afterEach, expect, it } from 'vitest';
import { CommandRig, placeEquity, unknown, word } from '../../../support/commands/command-rig.ts';

const service = { kind: 'service' } as const;
const started: CommandRig[] = [];
afterEach(async () => {
  for (const rig of started.splice(0)) await rig.commands.drain(new AbortController().signal);
});

/**
 * A holder that has raised a halt while the journal takes no halts, and has then lost its lane.
 * `back`: the journal takes them again.
 */
async function haltedWithoutJournal() {
  const rig = await CommandRig.leading({ haltAt: { account: 1, service: 10 } });
  started.push(rig);
  let away = true;
  rig.journal.hook = async (operation, transact) => {
    if (operation === 'raiseHalt' && away) throw new Error('no database');
    return transact();
  };
  await rig.commands.start();
  return {
    rig,
    back: () => {
      away = false;
    },
  };
}

// The halts of a term were in its memory alone while the database was away; the next begin of a
// term read the journal and forgot them.
it('holds in the next term of the same process', async () => {
  const { rig, back } = await haltedWithoutJournal();
  expect(await rig.during(rig.commands.operator.halt(service, word))).toMatchObject({ code: 'STORE_UNAVAILABLE' });
  rig.commands.endAll();
  await rig.begin(2n);
  expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
  back();
  await rig.clock.advance(6_000);
  expect(rig.journal.halts).toMatchObject([{ cause: 'operator', reason: word.reason }]);
  expect(rig.commands.operator.halts.list()).toHaveLength(1);
});

it('reaches the journal, and so the new holder, from a process that stands by', async () => {
  const { rig, back } = await haltedWithoutJournal();
  rig.entry.scripts.push({ result: unknown });
  void rig.commands.submit(rig.submission(placeEquity));
  await rig.clock.advance(3_000);
  expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'unresolved' }]);
  rig.commands.endAll();
  back();
  const next = await CommandRig.leading({ haltAt: { account: 100, service: 100 } }, rig);
  started.push(next);
  await next.commands.start();
  await rig.clock.advance(11_000);
  expect(rig.journal.halts).toMatchObject([{ cause: 'unresolved' }]);
  expect(await next.declined(placeEquity)).toBe('PLACING_HALTED');
  await next.during(next.commands.operator.resume({ kind: 'account', accountId: 'acct-1' }, word));
  await rig.clock.advance(11_000);
  expect(
    [rig.commands.operator.halts.list(), next.commands.operator.halts.list()],
    'a person has cleared it, for both',
  ).toEqual([[], []]);
});

it('is cleared by a person before it is durable, and does not come back', async () => {
  const { rig, back } = await haltedWithoutJournal();
  await rig.during(rig.commands.operator.halt(service, word));
  expect(await rig.during(rig.commands.operator.resume(service, word))).toMatchObject({ kind: 'done', halts: [] });
  back();
  await rig.clock.advance(11_000);
  expect(rig.journal.halts).toEqual([]);
  expect((await rig.send(placeEquity)).state).toBe('accepted');
});
