// What a user saw: A second halt was answered as done and stopped nothing: the first had just been cleared.

import { afterEach, expect, it } from 'vitest';
import { CommandRig, placeEquity, word } from '../../../support/commands/command-rig.ts';

const service = { kind: 'service' } as const;
const started: CommandRig[] = [];
afterEach(async () => {
  for (const rig of started.splice(0)) await rig.commands.drain(new AbortController().signal);
});

// A process looks at the halts of the journal once a second. Within that second it
// took a halt that another process had cleared for one that stands: the caller was
// answered with it, and nothing was halted.
it('is a new halt, in the journal before the answer', async () => {
  const rig = await CommandRig.leading();
  const other = await CommandRig.leading({}, rig);
  started.push(rig, other);
  await rig.during(rig.commands.operator.halt(service, word));
  await other.during(other.commands.operator.resume(service, word));
  expect(await rig.journal.activeHalts()).toEqual([]);
  expect(await rig.during(rig.commands.operator.halt(service, word))).toMatchObject({ kind: 'done' });
  expect(await rig.journal.activeHalts()).toMatchObject([{ cause: 'operator' }]);
  await rig.commands.start();
  await rig.clock.advance(2_000);
  expect(rig.commands.operator.halts.list()).toEqual(await rig.journal.activeHalts());
  expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
});

it('is the halt that stands, where it was not cleared', async () => {
  const rig = await CommandRig.leading();
  started.push(rig);
  for (const _ of [1, 2]) await rig.during(rig.commands.operator.halt(service, word));
  expect(rig.journal.halts).toHaveLength(1);
  expect(rig.commands.operator.halts.list()).toEqual(await rig.journal.activeHalts());
});
