// What a user saw: A search for a reference of 200 orders showed 50 of them, as if there were no more.

import { expect, it } from 'vitest';
import { newPlace, unknown } from '../../support/commands/journal-fixtures.ts';
import { all, only, readRig } from '../../support/orders/read-rig.ts';

it('each of them is shown, page after page, and others of the reference hide none', async () => {
  await using rig = await readRig();
  const wanted: string[] = [];
  for (let i = 0; i < 7; i += 1) {
    const command = await unknown(rig.journal, newPlace({ callerRef: 'grid-7' }));
    await rig.store({ orderId: `o-${i}`, references: { callerRef: 'grid-7' } });
    await rig.pool.query(
      'insert into order_bindings (stream, order_id, attempt_id, command_id, matches) values ($1, $2, $3, $4, true)',
      ['prediction', `o-${i}`, command.attempts[0]?.attemptId, command.commandId],
    );
    wanted.push(`prediction:o-${i}`);
  }
  const found = async (limit: number) => (await rig.ids(all, { q: 'grid-7' }, limit)).sort();
  expect(await found(50)).toEqual(wanted);
  expect(await found(7)).toEqual(wanted);
  expect(await found(6)).toEqual(wanted);
  expect(await found(2)).toEqual(wanted);
  expect(await rig.ids(only('acct-2'), { q: 'grid-7' }, 2)).toEqual([]);
});
