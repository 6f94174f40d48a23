// What a user saw: An order whose answer timed out was placed again, and both orders were filled.

import { expect, it } from 'vitest';
import { CommandWorld, equity } from '../../../support/commands/command-world.ts';
import { timeout } from '../../../support/commands/scripted-entry.ts';

// What protects: `checkPlace` (domain/command-checks.ts) refuses the second key, the lookup by key
// (service/commands/submit-command.ts) answers the first.
it('an order whose answer timed out is not placed again: its key is the same command, and another key with the same terms is refused', async () => {
  const world = await CommandWorld.start();
  world.script({ applied: { lateMs: 4_000 }, answer: timeout });
  const first = await world.send(equity, { idempotencyKey: 'loop-1' });
  expect(first.state).toBe('unknown');

  expect(await world.submit(equity, { idempotencyKey: 'loop-1' })).toMatchObject({
    kind: 'journaled',
    replayed: true,
    command: { commandId: first.commandId },
  });
  expect(await world.declined(equity, { idempotencyKey: 'loop-2' })).toBe('UNRESOLVED_PRIOR_COMMAND');

  await world.until(() => world.command(first.commandId).state === 'applied');
  expect(world.writes).toHaveLength(1);
  expect(world.landed(first.commandId).terms.symbol).toBe('AAPL');
});
