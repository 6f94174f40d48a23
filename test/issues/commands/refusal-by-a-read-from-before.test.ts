// What a user saw: A cancel ended rejected, and two seconds later the venue cancelled its order.

import { expect, it } from 'vitest';
import { settleCommand } from '../../../src/domain/settle-command.ts';
import { cancelOf, commandOf, predictionOrder, replaceOf, updateAt } from '../../support/commands/settling.ts';

// The platform's clock had been set back, so a row from before the cancel had the later time. Two
// reads that lagged agreed on it: a correction, which shows nothing pending.
it.each([
  ['cancel', commandOf(cancelOf(predictionOrder))],
  ['replace', commandOf(replaceOf({ price: '0.95' }))],
] as const)('a correction alone is no refusal of a %s; what comes behind it is', (kind, command) => {
  const pending = updateAt(6, { pendingAction: kind });
  const takenBack = { ...updateAt(7), cause: 'correction' };
  expect(settleCommand({ command, updates: [pending, takenBack] })).not.toMatchObject({ kind: 'verdict' });
  expect(settleCommand({ command, updates: [pending, takenBack, updateAt(8)] })).toMatchObject({
    ...{ kind: 'verdict', outcome: 'rejected', because: 'venue_refused' },
  });
});
